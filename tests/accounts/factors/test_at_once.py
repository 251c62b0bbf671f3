"""Factors and recoveries that several requests change at once, on PostgreSQL with separate connections."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.factors.removal import remove_factors
from accounts.mail import codes
from accounts.models import Account, AccountRecovery, Outbox
from accounts.recovery import own_recovery, waiting
from accounts.recovery.waiting import lock_account
from accounts.sessions.browser_sessions import HALF_SIGNED_IN
from tests.accounts.factors.conftest import confirm, give_app, give_codes, give_passkey, sign_in_as_far_as_possible
from tests.accounts.factors.test_last_way_in import end_password, give_key
from tests.accounts.test_passkey_sign_up import CODES, CREATE, sign_up
from tests.at_once import at_once, blocked_by
from tests.devportal.admin.conftest import make_staff
from tests.factories import PASSWORD, make_account
from tests.relying_party import sign_in
from tests.security.test_added_factors import use_key
from tests.soft_key import SoftKey
from tests.soft_key import give_key as give_soft_key
from tests.totp import totp

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
ADD = "/account/2fa/webauthn/add/"


def test_one_session_adds_its_key_and_the_others_end() -> None:
    account = make_account("ada@example.com")
    browsers = [sign_in(Browser(REMOTE_ADDR=f"10.0.0.{number}"), account) for number in range(4)]
    keys = [SoftKey(id=b"key %d" % number) for number in range(4)]
    pages = [browser.get(ADD).context["js_data"]["creation_options"] for browser in browsers]

    def add(number: int) -> int:
        form = {"name": "A key", "passwordless": "true", "credential": keys[number].made(pages[number])}
        return browsers[number].post(ADD, form).status_code

    # 400: Django can't store a session that another request has just ended.
    answers = at_once(4, add)
    assert 302 in answers
    assert set(answers) <= {302, 400}
    assert Authenticator.objects.filter(user=account, type="webauthn").count() == 1
    assert sum(browser.get("/account/").status_code == 200 for browser in browsers) == 1


def test_a_double_click_adds_an_app_once_and_is_no_error() -> None:
    account, owners = make_account("ada@example.com"), SoftKey()
    browser = sign_in(Browser(), account)
    give_soft_key(account, owners)
    use_key(browser, owners)
    page = "/account/2fa/totp/activate/"
    form = {"code": totp(browser.get(page).context["form"].secret)}
    browser.raise_request_exception = False
    assert at_once(2, lambda _: browser.post(page, form).status_code) == [302, 302]
    assert Authenticator.objects.filter(user=account, type="totp").count() == 1


def test_a_double_click_adds_a_key_once() -> None:
    account, owners = make_account("ada@example.com"), SoftKey()
    browser = sign_in(Browser(), account)
    give_soft_key(account, owners)
    use_key(browser, owners)
    made = SoftKey(id=b"a new key").made(browser.get(ADD).context["js_data"]["creation_options"])
    form = {"name": "A key", "passwordless": "true", "credential": made}
    assert at_once(2, lambda _: browser.post(ADD, form).status_code) == [302, 302]
    assert Authenticator.objects.filter(user=account, type="webauthn").count() == 2


def test_a_double_click_signs_up_with_one_passkey(mailoutbox: list[Any]) -> None:
    first = sign_up(Browser(), mailoutbox)
    second = Browser()
    form = {"credential": SoftKey().made(first.get(CREATE).context["js_data"]["creation_options"])}
    second.cookies.update(first.cookies)
    clicks = (first, second)
    assert at_once(2, lambda number: clicks[number].post(CREATE, form)["Location"]) == [CODES, CODES]
    signed_in = [browser for browser in clicks if browser.get("/account/").status_code == 200]
    assert signed_in
    passkey = Authenticator.objects.get(type="webauthn")
    for browser in signed_in:  # the browser keeps one of the two sessions, and the passkey counts in either
        assert browser.session["first_factor"]["id"] == passkey.pk
        assert [step["verified"] for step in browser.session["authentication_steps"]["steps"]] == [True]


# --- Removals ---


@pytest.mark.parametrize("round_", range(2))
def test_removing_both_passkeys_at_once_keeps_one(round_: int) -> None:
    account: Account = make_account("ada@example.com")
    browsers = [sign_in(Browser(), account) for _ in range(2)]
    for browser in browsers:
        browser.post("/account/reauthenticate/", {"login": account.email, "password": PASSWORD})
    for browser in browsers:
        end_password(browser, account)
    for browser in browsers:
        session = browser.session
        session["_auth_user_hash"] = account.get_session_auth_hash()
        session.save()
    keys = [give_key(account), give_key(account)]
    for browser in browsers:
        confirm(browser, account)
    answers = at_once(2, lambda n: browsers[n].post(f"/account/2fa/webauthn/keys/{keys[n].pk}/remove/"))
    assert sorted(answer.status_code for answer in answers) == [302, 409]
    assert Authenticator.objects.filter(user=account).count() == 1


def test_a_recovery_code_that_is_replaced_at_this_moment_is_wrong() -> None:
    account = make_account("ada@example.com")
    give_app(account)
    code, *_ = give_codes(account)
    browser, _ = sign_in_as_far_as_possible(account)
    stored = Authenticator.objects.filter(type=Authenticator.Type.RECOVERY_CODES)
    answer = blocked_by(stored.delete, lambda: browser.post("/account/2fa/authenticate/", {"code": code}))
    assert answer.status_code == 200
    assert "code" in answer.context["form"].errors


def test_a_passkey_that_is_renamed_at_this_moment_stays_removed() -> None:
    account = make_account("ada@example.com")
    browser, key = sign_in(Browser(), account), give_key(account)
    confirm(browser, account)
    path = f"/account/2fa/webauthn/keys/{key.pk}/edit/"
    answer = blocked_by(
        lambda: remove_factors(lock_account(account.pk), [key]), lambda: browser.post(path, {"name": "Back again"})
    )
    assert answer["Location"] == "/account/2fa/webauthn/"
    assert not Authenticator.objects.exists()


# --- Recoveries ---

WHY: dict[str, Any] = {"reason": "Lost the phone", "checked": "Video call"}


@pytest.fixture
def started() -> AccountRecovery:
    account = make_account("ada@example.com")
    give_app(account)
    give_codes(account)
    return waiting.start(account, make_staff("opal@example.com", "operator"), **WHY)


def start(account: Account, operator: Account) -> str:
    try:
        waiting.start(account, operator, **WHY)
    except waiting.RecoveryRefused:
        return "refused"
    return "started"


def test_concurrent_starts_create_one_recovery() -> None:
    account = make_account("ada@example.com")
    give_app(account)
    operators = [make_staff(f"opal-{number}@example.com", "operator") for number in range(6)]
    assert sorted(at_once(6, lambda number: start(account, operators[number]))) == ["refused"] * 5 + ["started"]
    assert AccountRecovery.objects.count() == Outbox.objects.count() == 1


def browserless(account: Account) -> Any:
    return SimpleNamespace(user=account, META={})


def start_own(account: Account) -> str:
    request: Any = SimpleNamespace(user=account, META={}, session={HALF_SIGNED_IN: account.get_session_auth_hash()})
    code = codes.code_for(f"recovery {account.pk}", account.email, own_recovery.LASTS)
    try:
        own_recovery.start(request, account, code)
    except waiting.RecoveryRefused:
        return "refused"
    return "started"


def test_person_and_operator_who_start_at_once_create_one_recovery() -> None:
    account, operator = make_account("ada@example.com"), make_staff("opal@example.com", "operator")
    give_app(account)
    results = at_once(6, lambda number: start_own(account) if number % 2 else start(account, operator))
    assert sorted(results) == ["refused"] * 5 + ["started"]
    assert AccountRecovery.objects.count() == Outbox.objects.count() == 1


def test_a_recovery_is_stopped_or_done_but_never_both(started: AccountRecovery, later: Callable[[float], None]) -> None:
    account = started.account
    later(73 * 3600)
    acts: list[Callable[[], object]] = [
        waiting.advance,
        lambda: waiting.stop(started, browserless(account)),
        waiting.advance,
        lambda: waiting.stop(started, browserless(account)),
    ]
    at_once(4, lambda number: acts[number]())
    started.refresh_from_db()
    account.refresh_from_db()
    is_done = started.outcome == AccountRecovery.Outcome.DONE
    assert started.outcome in (AccountRecovery.Outcome.DONE, AccountRecovery.Outcome.STOPPED)
    assert Authenticator.objects.filter(user=account).exists() is not is_done
    assert account.has_usable_password() is not is_done
    assert Outbox.objects.filter(subject__contains="Nothing was removed").count() == (0 if is_done else 1)
    assert Outbox.objects.filter(subject__contains="have been removed").count() == (1 if is_done else 0)


def test_a_factor_that_is_added_just_then_stays(started: AccountRecovery, later: Callable[[float], None]) -> None:
    later(73 * 3600)
    added = at_once(2, lambda number: waiting.advance() if number else give_passkey(started.account).pk)[0]
    assert Authenticator.objects.filter(pk=added).exists()
    started.refresh_from_db()
    account = Account.objects.get(pk=started.account_id)
    if started.outcome == AccountRecovery.Outcome.LAPSED:
        assert account.has_usable_password()
    else:
        assert [*Authenticator.objects.filter(user=account).values_list("pk", flat=True)] == [added]
