"""Recoveries that people start at sign-in: what thieves of the password, of the mailbox or of both can't do with it."""

from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.mail import codes
from accounts.models import Account, AccountRecovery, Outbox, SecurityEvent
from accounts.recovery import own_recovery
from accounts.recovery import waiting as recoveries
from accounts.recovery.tasks import advance_recoveries
from accounts.roles import set_roles
from accounts.sessions.browser_sessions import HALF_SIGNED_IN, end_all_sessions
from core import clock
from devportal.console.models import AuditEvent
from tests.accounts.entrance.test_sign_up import sign_up
from tests.accounts.factors.conftest import (
    NEW_PASSWORD,
    choose_by_mail,
    code_mailed_to,
    give_app,
    sign_in_as_far_as_possible,
    sign_in_by_mail,
)
from tests.accounts.recovery.test_own_recovery import START, STOP, start, stop_code
from tests.accounts.recovery.test_waiting import leave_address
from tests.devportal.admin.conftest import make_staff
from tests.factories import make_account
from tests.relying_party import sign_in
from tests.soft_key import SoftKey, give_key, use_alone
from tests.totp import totp

HOUR, DAY = 3600, 24 * 3600


@pytest.fixture
def secret(person: Account) -> str:
    return give_app(person)


@pytest.fixture
def operator(db: None) -> Account:
    return make_staff("opal@example.com", "operator")


def half(account: Account, password: str | None = None) -> Browser:
    return sign_in_as_far_as_possible(account, *([password] if password else []))[0]


def mailed_code(account: Account) -> str:
    """Return the code, as a thief of the mailbox has it."""
    return codes.code_for(f"recovery {account.pk}", account.email, own_recovery.LASTS)


def is_refused(browser: Browser, account: Account) -> bool:
    """Return whether neither page nor form starts a recovery, even with the right code."""
    before = AccountRecovery.objects.count()
    for form in ({"action": "send"}, {"code": mailed_code(account)}):
        browser.post(START, form)
    return AccountRecovery.objects.count() == before


# --- Without the password ---


def test_the_code_alone_starts_nothing(person: Account, secret: str) -> None:
    browser = Browser()
    assert browser.get(START)["Location"].startswith("/account/login/")
    assert is_refused(browser, person)


def takes_seven_days(browser: Browser, account: Account) -> bool:
    """Start a recovery, and return whether it waits as long as one by the mailbox alone, for which that is enough."""
    assert "7 days" in browser.get(START).content.decode()
    page = start(browser, account.email)
    assert "Your account is being recovered" in page.content.decode()
    row = AccountRecovery.objects.get(account=account, ended_at=None)
    return row.by_mail and (row.due_at - row.started_at).total_seconds() == 7 * DAY


def test_a_password_chosen_by_mail_makes_it_take_seven_days(person: Account, secret: str) -> None:
    assert takes_seven_days(sign_in_by_mail(person), person)  # the page that follows the new password


def test_so_does_a_later_sign_in_with_it(person: Account, secret: str) -> None:
    sign_in_by_mail(person)
    assert takes_seven_days(half(person, NEW_PASSWORD), person)


def test_a_password_chosen_in_a_sign_up_makes_it_take_seven_days(person: Account, secret: str) -> None:
    """A recovery from a takeover leaves the email address unverified, and the owner's older factors."""
    person.set_unusable_password()
    person.email_verified, person.last_login = False, clock.now()
    person.save()
    EmailAddress.objects.filter(user=person).update(verified=False)
    thief = Browser()
    sign_up(thief, person.email, password1=NEW_PASSWORD)
    answer = thief.post("/account/confirm-email/", {"code": code_mailed_to(person.email)})
    assert answer["Location"] == "/account/2fa/authenticate/"
    assert takes_seven_days(half(person, NEW_PASSWORD), person)
    assert SecurityEvent.objects.filter(account=person, kind="password_reset").exists()


def test_a_password_chosen_by_mail_in_a_session_makes_it_take_seven_days(person: Account) -> None:
    thief = sign_in(Browser(), person)
    give_app(person)
    choose_by_mail(thief, person)
    assert takes_seven_days(half(person, NEW_PASSWORD), person)
    assert SecurityEvent.objects.filter(account=person, kind="password_reset").exists()


def test_that_password_counts_once_the_owner_has_used_a_factor_with_it(
    person: Account, secret: str, later: Callable[[float], None]
) -> None:
    owner = sign_in_by_mail(person)
    owner.post("/account/2fa/authenticate/", {"code": totp(secret)})
    start(half(person, NEW_PASSWORD), person.email)
    row = AccountRecovery.objects.get()
    assert (row.by_mail, row.due_at - row.started_at) == (False, timedelta(hours=72))


def test_a_passkey_alone_does_not_make_that_password_count(person: Account, secret: str) -> None:
    sign_in_by_mail(person)
    SecurityEvent.objects.create(account=person, kind="signed_in", at=clock.now(), details={"methods": ["passkey"]})
    assert takes_seven_days(half(person, NEW_PASSWORD), person)


# --- With the mailbox alone ---


@pytest.fixture
def by_mail(person: Account, secret: str) -> Browser:
    """A browser in which a recovery was started with the mailbox alone."""
    browser = sign_in_by_mail(person)
    start(browser, person.email)
    return browser


def test_every_address_is_notified_and_it_is_audited(person: Account, secret: str) -> None:
    EmailAddress.objects.create(user=person, email="ada@work.example.com", verified=True, primary=False)
    start(sign_in_by_mail(person), person.email)
    told = Outbox.objects.filter(subject__contains="about to be removed")
    assert {mail.to for mail in told} == {person.email, "ada@work.example.com"}
    assert all("with a code from its mailbox" in " ".join(mail.text().split()) for mail in told)
    assert AuditEvent.objects.get(action="account.recovery_started").details == {"by_person": True, "by_mail": True}


def test_its_start_ends_all_sessions(person: Account, secret: str) -> None:
    """One that began with a passkey is younger than the new password: its owner would have to notice the email."""
    key = SoftKey()
    give_key(person, key)
    sign_in_by_mail(person)
    owner = use_alone(key, person)
    assert owner.get("/account/").status_code == 200
    start(half(person, NEW_PASSWORD), person.email)
    assert owner.get("/account/").status_code == 302


@pytest.mark.parametrize("how", ["passkey", "app", "link"])
def test_the_owner_stops_it(how: str, by_mail: Browser, person: Account, secret: str) -> None:
    if how == "passkey":
        key = SoftKey()
        give_key(person, key)
        use_alone(key, person)
    elif how == "app":
        half(person, NEW_PASSWORD).post("/account/2fa/authenticate/", {"code": totp(secret)})
    else:
        Browser().post(STOP, {"code": stop_code()})
    assert not AccountRecovery.objects.open().exists()
    assert is_refused(half(person, NEW_PASSWORD), person)  # not again for a while


def test_nothing_prolongs_or_repeats_it(
    by_mail: Browser, person: Account, later: Callable[[float], None], mailoutbox: list[Any]
) -> None:
    due_at = AccountRecovery.objects.get().due_at
    later(DAY)
    again = sign_in_by_mail(person)  # a person who forgot the new password meanwhile
    assert "Your account is being recovered" in again.get(START).content.decode()
    mails = Outbox.objects.count()
    assert is_refused(again, person)
    assert (AccountRecovery.objects.get().due_at, Outbox.objects.count()) == (due_at, mails)


def test_it_ends_like_every_recovery(by_mail: Browser, person: Account, later: Callable[[float], None]) -> None:
    later(6.9 * DAY)
    advance_recoveries()
    assert Authenticator.objects.filter(user=person).exists()
    assert Outbox.objects.filter(subject__contains="will be removed soon").exists()
    later(0.2 * DAY)
    advance_recoveries()
    person.refresh_from_db()
    assert not Authenticator.objects.filter(user=person).exists()
    assert not person.has_usable_password()  # the mailbox has to be proven again
    assert half(person, NEW_PASSWORD).get(START).status_code == 302
    assert sign_in_by_mail(person).get("/account/").status_code == 200


def test_it_waits_no_shorter_than_with_the_password(person: Account, secret: str, settings: Any) -> None:
    settings.ACCOUNT_RECOVERY_HOURS = 400
    assert own_recovery.Way.MAILBOX.hours == 400
    settings.ACCOUNT_RECOVERY_HOURS = 24
    assert own_recovery.Way.MAILBOX.hours == 168


# --- Without the mailbox ---


def test_a_thief_of_the_password_starts_nothing_without_the_code(person: Account, secret: str) -> None:
    thief = half(person)
    other = make_account()
    stolen = (mailed_code(other), codes.code_for("recovery", person.email, own_recovery.LASTS), secret, "", "1" * 5000)
    for code in stolen:
        assert thief.post(START, {"code": code}).status_code in (200, 429)
    assert not AccountRecovery.objects.exists()
    assert not Outbox.objects.filter(subject__contains="about to be removed").exists()


def test_a_code_expires(person: Account, secret: str, later: Callable[[float], None]) -> None:
    code = mailed_code(person)
    later(2 * own_recovery.LASTS)
    half(person).post(START, {"code": code})
    assert not AccountRecovery.objects.exists()


# --- With both ---


def test_the_owner_is_notified_and_stops_it_in_a_session_and_by_the_link(person: Account, secret: str) -> None:
    owner = half(person)
    owner.post("/account/2fa/authenticate/", {"code": totp(secret)})
    start(half(person))
    assert "Stop it" in owner.get("/account/").content.decode()
    assert "Stop the removal?" in Browser().get(STOP, {"code": stop_code()}).content.decode()
    owner.post(STOP)
    assert AccountRecovery.objects.get().outcome == AccountRecovery.Outcome.STOPPED


@pytest.mark.parametrize("end", ["stopped", "cancelled by a factor", "cancelled by an operator"])
def test_it_can_not_be_started_again_soon(
    end: str, person: Account, secret: str, operator: Account, later: Callable[[float], None]
) -> None:
    thief = half(person)
    start(thief)
    if end == "stopped":
        Browser().post(STOP, {"code": stop_code()})
    elif end == "cancelled by a factor":
        half(person).post("/account/2fa/authenticate/", {"code": totp(secret)})
    else:
        recoveries.cancel(AccountRecovery.objects.get(), operator, "Someone else asked")
    assert is_refused(thief, person)
    later(29 * DAY)
    assert is_refused(half(person), person)
    later(2 * DAY)
    assert not is_refused(half(person), person)


def test_only_one_runs_at_a_time_and_a_second_start_sends_no_mail(person: Account, secret: str) -> None:
    start(half(person))
    mails = Outbox.objects.count()
    for _ in range(3):
        assert is_refused(half(person), person)
    assert Outbox.objects.count() == mails


@pytest.mark.parametrize("change", ["sessions ended", "password changed", "deactivated"])
def test_an_unfinished_sign_in_starts_nothing_after_a_change(change: str, person: Account, secret: str) -> None:
    thief = half(person)
    if change == "sessions ended":
        end_all_sessions(person)
    elif change == "password changed":
        person.set_password("a new horse 9 battery")
        person.save()
    else:
        Account.objects.filter(pk=person.pk).update(is_active=False)
    assert is_refused(thief, person)


@pytest.mark.parametrize("change", ["none", "sessions ended", "wrong code", "no password"])
def test_the_start_checks_everything_again_under_the_lock(change: str, person: Account, secret: str, rf: Any) -> None:
    request = rf.post(START)
    request.session = {} if change == "no password" else {HALF_SIGNED_IN: person.get_session_auth_hash()}
    code = "AAAA-BBBB-CCCC" if change == "wrong code" else mailed_code(person)
    if change == "sessions ended":
        end_all_sessions(person)
    with nullcontext() if change == "none" else pytest.raises(recoveries.RecoveryRefused):
        own_recovery.start(request, person, code)
    assert AccountRecovery.objects.exists() == (change == "none")


def test_a_mailbox_that_is_new_to_the_account_starts_nothing(person: Account, secret: str) -> None:
    leave_address(person, "ada@former.example.com")
    assert is_refused(half(person), person)


def test_it_does_not_act_on_another_account_in_the_same_browser(person: Account, secret: str) -> None:
    other = make_account("other@example.com")
    give_app(other)
    browser = half(person)
    browser.post("/account/login/", {"login": other.email, "password": "wrong"})
    browser.post(START, {"code": mailed_code(other)})
    assert not AccountRecovery.objects.filter(account=other).exists()


# --- Staff ---


@pytest.mark.parametrize("proven", ["password", "mailbox"])
@pytest.mark.parametrize("role", ["reviewer", "operator", "superuser"])
def test_staff_need_an_operator(role: str, proven: str, person: Account, secret: str) -> None:
    if role == "superuser":
        Account.objects.filter(pk=person.pk).update(is_staff=True, is_superuser=True)
    else:
        set_roles(person, [role])
    browser = half(person) if proven == "password" else sign_in_by_mail(person)
    assert "only an operator" in browser.get(START).content.decode()
    assert is_refused(browser, person)


def test_a_person_who_joins_the_staff_meanwhile_keeps_their_factors(
    person: Account, secret: str, later: Callable[[float], None]
) -> None:
    browser = half(person)
    start(browser)
    set_roles(person, ["operator"])
    assert "only an operator" in browser.get(START).content.decode()
    later(73 * HOUR)
    advance_recoveries()
    assert AccountRecovery.objects.get().outcome == AccountRecovery.Outcome.LAPSED
    assert Authenticator.objects.filter(user=person).exists()
    assert SecurityEvent.objects.get(kind="recovery_lapsed").details == {"reason": "staff"}


def test_the_mailed_code_is_stored_encrypted(person: Account, secret: str) -> None:
    browser = half(person)
    browser.post(START, {"action": "send"})
    row = Outbox.objects.filter(subject__contains="code to recover").latest("pk")
    assert code_mailed_to(person.email) not in row.subject
    assert not row.body
