"""Account recovery: an operator starts it, everyone of the person is told, and time passes before it is done."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts import tasks
from accounts.models import Account, AccountRecovery, AddressChange, Outbox, SecurityEvent, WrongCodes
from accounts.recovery import waiting
from accounts.recovery.tasks import advance_recoveries
from accounts.roles import set_roles
from core import clock
from core.database import encryption
from devportal.console.models import AuditEvent
from tests.accounts.factors.conftest import (
    give_app,
    give_codes,
    give_passkey,
    sign_in_as_far_as_possible,
    sign_in_by_mail,
)
from tests.devportal.admin.conftest import make_staff
from tests.factories import make_account, make_project

HOUR = 3600
PAGE = "/account/recovery/"
FORM: dict[str, Any] = {"reason": "Lost the phone", "checked": "Video call, knows the last invoice"}


@pytest.fixture
def lost(person: Account) -> Account:
    """Someone with every second factor, and a further proven address."""
    give_app(person)
    give_codes(person)
    give_passkey(person)
    EmailAddress.objects.create(user=person, email="ada@work.example.com", verified=True, primary=False)
    EmailAddress.objects.create(user=person, email="typo@example.com", verified=False, primary=False)
    return person


@pytest.fixture
def started(lost: Account, operator: Account) -> AccountRecovery:
    return waiting.start(lost, operator, **FORM)


def action(account: Account, name: str) -> str:
    return f"/admin/accounts/account/{account.pk}/do/{name}/"


def body(mail: Outbox) -> str:
    return encryption.decrypt(mail.body_encrypted) if mail.body_encrypted else mail.body


def code_of(started: AccountRecovery) -> str:
    mail = Outbox.objects.filter(subject__contains="about to be removed").first()
    assert mail is not None
    found = re.search(r"/account/recovery/\?code=(\S+)", body(mail))
    assert found, body(mail)
    return found[1]


def kinds(account: Account) -> list[str]:
    return [*SecurityEvent.objects.filter(account=account).order_by("pk").values_list("kind", flat=True)]


def audited() -> list[str]:
    found = AuditEvent.objects.filter(action__startswith="account.recovery").order_by("pk")
    return [*found.values_list("action", flat=True)]


def factors(account: Account) -> int:
    count: int = Authenticator.objects.filter(user=account).count()
    return count


def browser_of(account: Account) -> Browser:
    browser = Browser()
    browser.force_login(account, backend="allauth.account.auth_backends.AuthenticationBackend")
    return browser


# --- Starting ---


def test_an_operator_starts_it_and_every_verified_email_address_gets_a_mail(lost: Account, operator: Account) -> None:
    browser = browser_of(operator)
    page = browser.get(action(lost, "remove-factors")).content.decode()
    assert "In 72 hours" in page
    browser.post(action(lost, "remove-factors"), FORM)
    row = AccountRecovery.objects.get()
    assert (row.account, row.started_by, row.reason, row.checked) == (lost, operator, FORM["reason"], FORM["checked"])
    assert (row.due_at - row.started_at).total_seconds() == 72 * HOUR
    told = {mail.to for mail in Outbox.objects.filter(subject__contains="about to be removed")}
    assert told == {"ada@example.com", "ada@work.example.com"}
    event = AuditEvent.objects.get(action="account.recovery_started")
    assert event.details == FORM | {"changes_address": False}
    assert kinds(lost) == ["recovery_started"]
    assert factors(lost) == 3


@pytest.mark.parametrize("missing", ["reason", "checked"])
def test_a_recovery_needs_a_reason_and_an_identity_check(missing: str, lost: Account, operator: Account) -> None:
    browser_of(operator).post(action(lost, "remove-factors"), FORM | {missing: " "})
    assert not AccountRecovery.objects.exists()


def test_the_code_is_kept_encrypted_and_wiped_with_its_mail(started: AccountRecovery) -> None:
    for mail in Outbox.objects.filter(subject__contains="about to be removed"):
        assert not mail.body
        assert not mail.html
        assert mail.expires_at == started.due_at
        assert PAGE in body(mail)


def test_only_one_recovery_runs_at_a_time(started: AccountRecovery, operator: Account) -> None:
    with pytest.raises(waiting.RecoveryRefused, match="already been started"):
        waiting.start(started.account, operator, **FORM)
    browser_of(operator).post(action(started.account, "remove-factors"), FORM)
    assert AccountRecovery.objects.count() == 1


def test_nothing_is_started_without_factors_or_for_inactive_people(lost: Account, operator: Account) -> None:
    with pytest.raises(waiting.RecoveryRefused, match="nothing to remove"):
        waiting.start(make_account(), operator, **FORM)
    Account.objects.filter(pk=lost.pk).update(is_active=False)
    with pytest.raises(waiting.RecoveryRefused, match="turned off"):
        waiting.start(lost, operator, **FORM)


def test_only_operators_who_may_administer_the_person_start_it(lost: Account, operator: Account) -> None:
    set_roles(lost, ["reviewer", "operator"])
    Account.objects.filter(pk=lost.pk).update(is_superuser=True)
    reviewer = make_staff("rena@example.com", "reviewer")
    for nobody in (operator, reviewer, make_account()):
        assert browser_of(nobody).post(action(lost, "remove-factors"), FORM).status_code in (302, 403)
    give_app(operator)
    browser_of(operator).post(action(operator, "remove-factors"), FORM)
    assert not AccountRecovery.objects.exists()


def test_a_new_address_that_is_someone_elses_is_refused(
    lost: Account, operator: Account, later: Callable[[float], None]
) -> None:
    other = make_account("taken@example.com")
    with pytest.raises(waiting.RecoveryRefused, match="another account"):
        waiting.start(lost, operator, **FORM, new_email="taken@example.com")
    started = waiting.start(lost, operator, **FORM, new_email="free@example.com")
    told = Outbox.objects.filter(subject__contains="about to be removed")
    assert all("replaced by a different one" in body(mail) for mail in told)
    assert not told.filter(to="free@example.com").exists()
    other.email = "free@example.com"
    other.save()
    later(73 * HOUR)
    advance_recoveries()
    started.refresh_from_db()
    assert started.outcome == AccountRecovery.Outcome.LAPSED
    lost.refresh_from_db()
    assert (lost.email, factors(lost)) == ("ada@example.com", 3)


# --- Stopping ---


def test_opening_the_link_does_nothing_and_its_button_stops_it(started: AccountRecovery) -> None:
    stranger, code = Browser(), code_of(started)
    for method in (stranger.get, stranger.head, stranger.options):
        method(PAGE, {"code": code})
    page = stranger.get(PAGE, {"code": code}).content.decode()
    assert "Stop the removal?" in page
    assert started.account.email not in page
    assert AccountRecovery.objects.open().exists()
    assert "Stopped" in stranger.post(PAGE, {"code": code}).content.decode()
    assert stranger.get("/account/").status_code == 302
    started.refresh_from_db()
    assert started.outcome == AccountRecovery.Outcome.STOPPED
    assert factors(started.account) == 3
    assert kinds(started.account) == ["recovery_started", "recovery_stopped"]
    assert audited() == ["account.recovery_started", "account.recovery_stopped"]
    told = [mail.to for mail in Outbox.objects.filter(subject__contains="Nothing was removed")]
    assert sorted(told) == ["ada@example.com", "ada@work.example.com"]
    assert "Nothing to stop" in stranger.post(PAGE, {"code": code}).content.decode()
    assert audited().count("account.recovery_stopped") == 1


def test_signed_in_people_see_it_and_can_stop_it(started: AccountRecovery) -> None:
    browser = browser_of(started.account)
    for page in ("/account/", "/account/2fa/", PAGE):
        assert "Stop it" in browser.get(page).content.decode(), page
    browser.post(PAGE)
    assert not AccountRecovery.objects.open().exists()
    assert "Stop it" not in browser.get("/account/").content.decode()


def test_nothing_else_stops_a_recovery(started: AccountRecovery) -> None:
    code = code_of(started)
    guessed = code[:-1] + ("A" if code[-1] != "A" else "B")
    odd = ("1", "1:", "1:x", "\x00", "9" * 50, "é", "99999999999999999999:abc", ":", "x" * 5000)
    for wrong in (*odd, guessed, str(started.pk)):
        assert Browser().post(PAGE, {"code": wrong}).status_code in (200, 400), wrong
    browser_of(make_account()).post(PAGE)
    assert Browser().post(PAGE).status_code == 302
    assert AccountRecovery.objects.open().exists()


def test_an_operator_can_cancel_a_recovery(started: AccountRecovery, operator: Account) -> None:
    browser_of(operator).post(action(started.account, "cancel-recovery"), {"reason": "A mistake"})
    started.refresh_from_db()
    assert started.outcome == AccountRecovery.Outcome.CANCELLED
    assert kinds(started.account)[-1] == "recovery_cancelled"
    assert audited()[-1] == "account.recovery_cancelled"


def test_operators_can_not_cancel_the_recovery_of_their_own_account(operator: Account) -> None:
    """After a takeover of a staff account, the thief is signed in to the admin as that operator."""
    thief = browser_of(operator)
    colleague = make_staff("colleague@example.com", "operator")
    taken_over_at = clock.now() - timedelta(hours=1)
    Account.objects.filter(pk=operator.pk).update(created_at=clock.now() - timedelta(days=99))
    started = waiting.start(operator, colleague, **FORM, taken_over_at=taken_over_at)
    thief.post(PAGE)
    assert AccountRecovery.objects.open().exists(), "their session is younger than the takeover"
    thief.post(action(operator, "cancel-recovery"), {"reason": "A mistake"})
    assert AccountRecovery.objects.open().exists()
    assert not waiting.cancel(started, operator, "A mistake")
    assert waiting.cancel(started, colleague, "A mistake")


def test_an_email_address_of_the_only_owner_of_a_project_is_taken(
    lost: Account, operator: Account, later: Callable[[float], None]
) -> None:
    """Such an account can't be deleted to make way, although its owner only signed up."""
    owner = make_account("owner@example.com", verified=False)
    SecurityEvent.objects.create(account=owner, kind="signed_up", at=clock.now(), by="person")
    started = waiting.start(lost, operator, **FORM, new_email=owner.email)
    make_project(owner)
    later(73 * HOUR)
    assert advance_recoveries() == 1
    started.refresh_from_db()
    assert (started.outcome, kinds(lost)[-1]) == (AccountRecovery.Outcome.LAPSED, "recovery_lapsed")
    assert Account.objects.filter(pk=owner.pk).exists()
    with pytest.raises(waiting.RecoveryRefused, match="another account"):
        waiting.start(lost, operator, **FORM, new_email=owner.email)


# --- Time ---


def test_a_reminder_goes_out_once_before_it_is_done(started: AccountRecovery, later: Callable[[float], None]) -> None:
    later(47 * HOUR)
    assert advance_recoveries() == 0
    later(2 * HOUR)
    assert [advance_recoveries(), advance_recoveries()] == [1, 0]
    reminders = Outbox.objects.filter(subject__contains="will be removed soon")
    assert [code_of(started) in body(mail) for mail in reminders] == [True, True]
    assert factors(started.account) == 3


def test_when_it_is_due_the_factors_are_removed(started: AccountRecovery, later: Callable[[float], None]) -> None:
    account = started.account
    WrongCodes.objects.create(account=account, count=100)
    elsewhere = browser_of(account)
    stamp = account.session_stamp
    later(72 * HOUR + 1)
    assert [advance_recoveries(), advance_recoveries()] == [1, 0]
    account.refresh_from_db()
    assert factors(account) == 0
    assert not account.has_usable_password()
    assert elsewhere.get("/account/").status_code == 302
    assert account.session_stamp != stamp
    assert WrongCodes.objects.get(account=account).count == 0
    assert "<h1>Two-step verification</h1>" not in sign_in_as_far_as_possible(account)[1].content.decode()
    assert kinds(account)[-1] == "second_factors_removed"
    assert audited() == ["account.recovery_started", "account.recovery_done"]
    assert Outbox.objects.filter(subject__contains="have been removed").count() == 2

    started.refresh_from_db()
    assert started.outcome == AccountRecovery.Outcome.DONE
    assert sign_in_by_mail(account).get("/account/").status_code == 200


@pytest.mark.parametrize("moment", [49 * HOUR, 73 * HOUR])
def test_a_recovery_that_fails_does_not_stop_the_others(
    moment: float,
    started: AccountRecovery,
    operator: Account,
    later: Callable[[float], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = make_account("bo@example.com")
    give_app(other)
    waiting.start(other, operator, **FORM)
    real = waiting._lock

    def lock(pk: int) -> AccountRecovery | None:
        if pk == started.pk:
            raise RuntimeError("a row that can't be changed")
        return real(pk)

    monkeypatch.setattr(waiting, "_lock", lock)
    later(moment)
    assert advance_recoveries() == 1
    assert AccountRecovery.objects.get(pk=started.pk).ended_at is None


def test_a_factor_that_is_added_meanwhile_ends_it(started: AccountRecovery, later: Callable[[float], None]) -> None:
    give_passkey(started.account)  # without a page that would say so
    later(73 * HOUR)
    assert advance_recoveries() == 1
    started.refresh_from_db()
    assert started.outcome == AccountRecovery.Outcome.LAPSED
    assert factors(started.account) == 4
    assert started.account.has_usable_password()
    assert kinds(started.account)[-1] == "recovery_lapsed"


def test_new_recovery_codes_end_it_at_once(started: AccountRecovery) -> None:
    browser = browser_of(started.account)
    codes = Authenticator.objects.get(user=started.account, type="recovery_codes").wrap().get_unused_codes()
    browser.post("/account/2fa/reauthenticate/", {"code": codes[0]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.db.transaction.on_commit", lambda act, **kwargs: act())
        browser.post("/account/2fa/recovery-codes/generate/")
    assert not AccountRecovery.objects.open().exists()


@pytest.mark.parametrize("change", ["operator left", "person was given roles", "person was turned off", "all removed"])
def test_it_ends_when_its_conditions_change(
    change: str, started: AccountRecovery, operator: Account, later: Callable[[float], None]
) -> None:
    account = started.account
    if change == "operator left":
        set_roles(operator, [])
    elif change == "person was given roles":
        Account.objects.filter(pk=account.pk).update(is_staff=True, is_superuser=True)
    elif change == "person was turned off":
        Account.objects.filter(pk=account.pk).update(is_active=False)
    else:
        Authenticator.objects.filter(user=account).delete()
    later(73 * HOUR)
    advance_recoveries()
    started.refresh_from_db()
    assert started.outcome == AccountRecovery.Outcome.LAPSED
    account.refresh_from_db()
    assert account.has_usable_password()


def test_it_goes_with_the_account_and_the_operator_may_go_first(started: AccountRecovery, operator: Account) -> None:
    operator.delete()
    started.refresh_from_db()
    assert started.started_by is None
    started.account.delete()
    assert not AccountRecovery.objects.exists()


def test_old_recoveries_are_deleted_and_open_ones_never(
    started: AccountRecovery, settings: Any, later: Callable[[float], None]
) -> None:
    settings.SECURITY_EVENT_DAYS = 1
    later(50 * HOUR)
    SecurityEvent.objects.all().delete()
    assert tasks.clear_security_events() == 0
    later(23 * HOUR)
    advance_recoveries()
    SecurityEvent.objects.all().delete()
    assert tasks.clear_security_events() == 0  # it has just ended
    later(25 * HOUR)
    assert tasks.clear_security_events() == 1


# --- A former email address that can still take the account back ---


def test_former_email_addresses_are_notified_and_can_stop_a_recovery(
    lost: Account, operator: Account, later: Callable[[float], None]
) -> None:
    leave_address(lost, "ada@former.example.com")
    leave_address(lost, "ada@long-ago.example.com", days_ago=8)
    everywhere = ["ada@example.com", "ada@former.example.com", "ada@work.example.com"]
    started = waiting.start(lost, operator, **FORM)
    assert told("about to be removed") == everywhere
    later(49 * HOUR)
    advance_recoveries()
    assert told("will be removed soon") == everywhere
    mail = Outbox.objects.get(to="ada@former.example.com", subject__contains="will be removed soon")
    found = re.search(r"/account/recovery/\?code=(\S+)", body(mail))
    assert found
    assert "Stopped" in Browser().post(PAGE, {"code": found[1]}).content.decode()
    assert told("Nothing was removed") == everywhere
    started.refresh_from_db()
    assert started.outcome == AccountRecovery.Outcome.STOPPED


@pytest.mark.parametrize("end", ["done", "done with another address", "called off", "given up"])
def test_former_email_addresses_are_notified_of_the_end(
    end: str, lost: Account, operator: Account, later: Callable[[float], None]
) -> None:
    leave_address(lost, "ada@former.example.com")
    new_email = "ada@new.example.com" if "another" in end else ""
    started = waiting.start(lost, operator, **FORM, new_email=new_email)
    if end == "called off":
        waiting.cancel(started, operator, "A mistake")
    elif end == "given up":
        set_roles(operator, [])
    later(73 * HOUR)
    advance_recoveries()
    about = "have been removed" if end.startswith("done") else "Nothing was removed"
    assert "ada@former.example.com" in told(about)


def leave_address(account: Account, former: str, days_ago: float = 1) -> None:
    """Note that the account's email address was another one until some days ago."""
    at = clock.from_now(int(-days_ago * 24 * HOUR))
    AddressChange.objects.create(
        account=account, old_email=former, new_email=account.email, code_mac="x", newest_factor=0, at=at
    )


def told(about: str) -> list[str]:
    return sorted(Outbox.objects.filter(subject__contains=about).values_list("to", flat=True))
