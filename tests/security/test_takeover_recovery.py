"""Recovery of an account that was taken over: nothing younger than the takeover stops it, nothing older is removed."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.models import Account, AccountRecovery, Outbox, SecurityEvent
from accounts.recovery import waiting
from accounts.recovery.tasks import advance_recoveries
from accounts.tasks import clear_address_changes, clear_security_events
from core import clock
from core.database import encryption
from tests.accounts.entrance.test_sign_up import sign_up
from tests.accounts.factors.conftest import give_app, give_codes, give_passkey, sign_in_as_far_as_possible
from tests.accounts.recovery.test_address_changes import NEW, OLD, change, is_taken_back, take_back, take_back_code
from tests.devportal.admin.conftest import make_staff
from tests.factories import PASSWORD
from tests.relying_party import sign_in
from tests.soft_key import SoftKey, add_key
from tests.totp import totp

pytestmark = pytest.mark.django_db

HOUR = 3600
PAGE = "/account/recovery/"
FORM: dict[str, Any] = {"reason": "Taken over", "checked": "Video call"}
Mover = Callable[[float], None]


@pytest.fixture(autouse=True)
def commits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.mail.outbox._announce", lambda pk: None)
    monkeypatch.setattr("django.db.transaction.on_commit", lambda do, robust=False: do())


@pytest.fixture
def operator(db: None) -> Account:
    return make_staff("opal@example.com", "operator")


@pytest.fixture
def owner(person: Account) -> Browser:
    """A browser in which the owner signed in long before the takeover."""
    Account.objects.filter(pk=person.pk).update(created_at=clock.from_now(-400 * HOUR))
    browser = sign_in(Browser(), person)
    session = browser.session
    session["authentication"] = session["authentication"] | {"at": clock.now().timestamp() - 100 * HOUR}
    session.save()
    return browser


@pytest.fixture
def thief(owner: Browser, person: Account) -> Browser:
    browser = sign_in(Browser(), person)
    browser.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})
    return browser


def age(factor: Authenticator, hours: float = 100) -> Authenticator:
    """Make a factor one of the owner's, from long before the takeover."""
    Authenticator.objects.filter(pk=factor.pk).update(created_at=clock.from_now(int(-hours * HOUR)))
    return factor


def start(account: Account, operator: Account, **more: Any) -> AccountRecovery:
    moment = clock.now() - timedelta(hours=1)
    return waiting.start(Account.objects.get(pk=account.pk), operator, **FORM, taken_over_at=moment, **more)


def is_open() -> bool:
    return AccountRecovery.objects.open().exists()


def stop_mails() -> dict[str, str]:
    """Return the link that stops the recovery in the newest email about its start, by email address."""
    links = {}
    for row in Outbox.objects.filter(subject__contains="being recovered").order_by("pk"):
        found = re.search(r"/account/recovery/\?code=(\S+)", encryption.decrypt(row.body_encrypted))
        links[row.to] = found[1] if found else ""
    return links


def finish(later: Mover) -> AccountRecovery:
    later(73 * HOUR)
    advance_recoveries()
    return AccountRecovery.objects.get()


# --- Who stops it ---


def test_a_younger_session_does_not_stop_it(thief: Browser, person: Account, operator: Account) -> None:
    start(person, operator)
    for page in (PAGE, "/account/", "/account/2fa/"):
        text = thief.get(page).content.decode()
        assert "Stop it" not in text, page
        assert "stop it here" in text, page
    assert thief.post(PAGE).status_code == 200
    assert is_open()


def test_a_younger_factor_does_not_stop_it(thief: Browser, person: Account, operator: Account, later: Mover) -> None:
    add_key(thief, SoftKey())
    start(person, operator)
    secret = thief.get("/account/2fa/totp/activate/").context["form"].secret
    thief.post("/account/2fa/totp/activate/", {"code": totp(secret)})
    thief.post("/account/2fa/reauthenticate/", {"code": totp(secret)})
    thief.post("/account/2fa/recovery-codes/generate/")
    thief.post(PAGE)
    assert is_open()
    assert finish(later).outcome == AccountRecovery.Outcome.DONE
    assert not Authenticator.objects.filter(user=person).exists()
    assert thief.get("/account/").status_code == 302
    person.refresh_from_db()
    assert not person.has_usable_password()


def test_an_older_session_stops_it(owner: Browser, person: Account, operator: Account) -> None:
    start(person, operator)
    assert "Stop it" in owner.get(PAGE).content.decode()
    owner.post(PAGE)
    assert not is_open()


def test_a_session_whose_age_is_unknown_does_not_stop_it(owner: Browser, person: Account, operator: Account) -> None:
    start(person, operator)
    session = owner.session
    del session["authentication"]
    session.save()
    owner.post(PAGE)
    assert is_open()


def test_a_session_that_used_an_older_factor_stops_it(owner: Browser, person: Account, operator: Account) -> None:
    secret = give_app(person)
    start(person, operator)
    younger, _ = sign_in_as_far_as_possible(person)
    younger.post("/account/2fa/authenticate/", {"code": totp(secret)})
    younger.post(PAGE)
    assert is_open()  # the app is younger
    age(Authenticator.objects.get(user=person))
    younger.post(PAGE)
    assert not is_open()


def test_the_mailbox_from_before_stops_it_and_the_thiefs_does_not(
    thief: Browser, person: Account, operator: Account
) -> None:
    change(thief, NEW)
    start(person, operator)
    links = stop_mails()
    assert set(links) == {OLD, NEW}
    assert links[NEW] == ""
    assert "Stopped" in Browser().post(PAGE, {"code": links[OLD]}).content.decode()
    assert not is_open()


def test_the_thiefs_mailbox_gets_no_link_after_the_change_can_not_be_taken_back(
    thief: Browser, person: Account, operator: Account, later: Mover
) -> None:
    change(thief, NEW)
    later(200 * HOUR)
    moment = clock.now() - timedelta(hours=300)
    waiting.start(Account.objects.get(pk=person.pk), operator, **FORM, taken_over_at=moment)
    assert stop_mails() == {NEW: ""}


def test_an_address_that_is_added_meanwhile_gets_no_link(
    thief: Browser, person: Account, operator: Account, later: Mover
) -> None:
    start(person, operator)
    change(thief, NEW)
    later(49 * HOUR)
    advance_recoveries()
    mails = {
        row.to: encryption.decrypt(row.body_encrypted)
        for row in Outbox.objects.filter(subject__contains="Your account will be recovered")
    }
    assert set(mails) == {OLD, NEW}
    assert "?code=" in mails[OLD]
    assert "?code=" not in mails[NEW]


def test_closing_the_account_does_not_stop_it(thief: Browser, person: Account, operator: Account, later: Mover) -> None:
    start(person, operator)
    thief.post("/account/delete")
    person.refresh_from_db()
    assert person.is_active
    assert "someone else took it over" in " ".join(thief.get("/account/delete").content.decode().split())
    assert finish(later).outcome == AccountRecovery.Outcome.DONE


def test_a_sign_up_with_the_owners_address_does_not_stop_it(
    thief: Browser, person: Account, operator: Account, later: Mover, mailoutbox: list[Any]
) -> None:
    change(thief, NEW)
    start(person, operator, new_email=OLD)
    sign_up(Browser(), OLD)
    assert Account.objects.filter(email=OLD).exists()
    assert finish(later).outcome == AccountRecovery.Outcome.DONE
    assert Account.objects.get(email=OLD).pk == person.pk


def test_it_is_an_ordinary_recovery_without_a_moment(thief: Browser, person: Account, operator: Account) -> None:
    give_app(person)
    waiting.start(person, operator, **FORM)
    thief.post(PAGE)
    assert not is_open()


# --- What it removes ---


def test_older_factors_stay(owner: Browser, person: Account, operator: Account, later: Mover) -> None:
    key = age(give_passkey(person))
    give_app(person)
    start(person, operator)
    assert finish(later).outcome == AccountRecovery.Outcome.DONE
    assert list(Authenticator.objects.filter(user=person)) == [key]
    kinds = list(SecurityEvent.objects.filter(account=person).order_by("pk").values_list("kind", flat=True))
    assert kinds[-2:] == ["authenticator_off", "takeover_undone"]


def test_older_recovery_codes_stay_with_an_older_factor(
    owner: Browser, person: Account, operator: Account, later: Mover
) -> None:
    give_app(person)
    give_codes(person)
    for row in Authenticator.objects.all():
        age(row)
    give_passkey(person)
    start(person, operator)
    finish(later)
    assert sorted(Authenticator.objects.values_list("type", flat=True)) == ["recovery_codes", "totp"]


def test_the_address_from_before_comes_back(thief: Browser, person: Account, operator: Account, later: Mover) -> None:
    change(thief, NEW)
    change(thief, "third@example.com")
    start(person, operator)
    assert finish(later).outcome == AccountRecovery.Outcome.DONE
    person.refresh_from_db()
    assert (person.email, person.email_verified) == (OLD, False)
    rows = EmailAddress.objects.filter(user=person)
    assert list(rows.values_list("email", "verified")) == [(OLD, False)]


def test_the_address_from_before_is_known_until_the_end(
    thief: Browser, person: Account, operator: Account, later: Mover, settings: Any
) -> None:
    """The rows that name it would be deleted before the recovery is done, and the thief's mailbox would stay."""
    settings.SECURITY_EVENT_DAYS = settings.ADDRESS_REVERSAL_DAYS = 7
    before = clock.now() - timedelta(hours=1)
    change(thief, NEW)
    later(6 * 24 * HOUR)
    waiting.start(Account.objects.get(pk=person.pk), operator, **FORM, taken_over_at=before)
    later(73 * HOUR)
    clear_address_changes()
    clear_security_events()
    advance_recoveries()
    person.refresh_from_db()
    assert (person.email, person.email_verified) == (OLD, False)
    assert clear_security_events() > 0  # what was kept for the recovery


def test_the_thief_takes_no_address_back_afterwards(
    thief: Browser, person: Account, operator: Account, later: Mover
) -> None:
    start(person, operator)
    later(60 * HOUR)
    session = thief.session
    session["authentication"] = session["authentication"] | {"at": clock.now().timestamp()}
    session.save()
    change(thief, NEW)
    change(thief, "third@example.com")
    code = take_back_code(NEW)
    assert finish(later).outcome == AccountRecovery.Outcome.DONE
    assert not is_taken_back(take_back(NEW, code))
    person.refresh_from_db()
    assert person.email == OLD


def test_a_new_address_of_the_owner_replaces_all(
    thief: Browser, person: Account, operator: Account, later: Mover
) -> None:
    change(thief, NEW)
    start(person, operator, new_email="ada@new.example.com")
    finish(later)
    person.refresh_from_db()
    assert person.email == "ada@new.example.com"


# --- What an operator types ---


def test_the_operator_gives_the_moment(owner: Browser, person: Account, operator: Account) -> None:
    browser = sign_in(Browser(), operator)
    path = f"/admin/accounts/account/{person.pk}/do/remove-factors/"
    for wrong in ("yesterday", "2999-01-01 00:00", "1999-01-01 00:00", "\x00"):
        answer = browser.post(path, FORM | {"taken_over_at": wrong})
        assert answer.status_code in (200, 400), wrong
        assert not is_open()
    moment = clock.now().replace(microsecond=0) - timedelta(hours=5)
    assert browser.post(path, FORM | {"taken_over_at": moment.strftime("%Y-%m-%d %H:%M:%S")}).status_code == 302
    assert AccountRecovery.objects.get().taken_over_at == moment


# --- A sign-up that nobody has proven keeps no owner out ---


def test_a_sign_up_with_the_old_address_does_not_keep_the_owner_from_it(
    thief: Browser, person: Account, mailoutbox: list[Any]
) -> None:
    change(thief, NEW)
    code = take_back_code(OLD)
    sign_up(Browser(), OLD)
    assert Account.objects.filter(email=OLD).exists()
    assert is_taken_back(take_back(OLD, code))
    assert Account.objects.get().pk == person.pk
