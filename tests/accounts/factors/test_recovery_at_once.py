"""Recoveries that are started, stopped and due at once, on PostgreSQL with separate connections."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from allauth.mfa.models import Authenticator

from accounts.mail import codes
from accounts.models import Account, AccountRecovery, Outbox
from accounts.recovery import own_recovery, waiting
from accounts.sessions.browser_sessions import HALF_SIGNED_IN
from tests.accounts.factors.conftest import give_app, give_codes, give_passkey
from tests.at_once import at_once
from tests.devportal.admin.conftest import make_staff
from tests.factories import make_account

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
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
