"""Account recovery that people start themselves at sign-in, when they have lost every factor.

They have typed the password, and type a code from the account's mailbox: neither a thief of the password nor one of the
mailbox can start it alone. So a password that was chosen with a code from a mail does not count until somebody has
signed in with a factor after it (docs/accounts.md#recovery-at-sign-in).
"""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest

from accounts import address_changes
from accounts.activity.recording import record
from accounts.factors import recovery
from accounts.mail import codes
from accounts.models import Account, AccountRecovery, SecurityEvent
from accounts.reauthentication import second_factors_of
from accounts.sessions import is_half_signed_in
from core import clock

# How long a code is valid (seconds).
LASTS = 15 * 60
# The codes of accounts/activity/kinds.py for factors that are used after the password.
_AFTER_PASSWORD = {"totp", "recovery_codes", "security_key"}


def may_start(account: Account) -> bool:
    """Return whether this person may start a recovery now; everybody else needs an operator.

    Staff may not, nor people who changed their email address lately, nor anyone shortly after another recovery.
    """
    if not account.is_active or recovery.is_staff(account) or address_changes.addresses_left(account):
        return False
    latest = clock.now() - timedelta(days=settings.ACCOUNT_RECOVERY_PAUSE_DAYS)
    recoveries = AccountRecovery.objects.filter(account=account)
    if recoveries.open().exists() or recoveries.filter(ended_at__gt=latest).exists():
        return False
    return second_factors_of(account).exists() and not _is_password_from_mail(account)


def send_code(request: HttpRequest, account: Account) -> None:
    """Mail the code to the account's email address. Raises RateLimited."""
    codes.send_code(request, "recovery_code", _purpose(account), account.email, LASTS)


def is_right(account: Account, code: str) -> bool:
    """Return whether it is the code that was mailed."""
    return codes.is_right(_purpose(account), account.email, LASTS, code)


@transaction.atomic
def start(request: HttpRequest, account: Account, code: str) -> AccountRecovery:
    """Start a recovery of the account that signs in, and tell the person at every email address.

    Raises RecoveryRefused if the code is wrong, the sign-in has ended, or the person may not start one now.
    """
    locked = recovery.lock_account(account.pk)
    if not (is_right(locked, code) and is_half_signed_in(request, locked) and may_start(locked)):
        raise recovery.RecoveryRefused
    record(locked, "recovery_started", request)
    return recovery.create(locked, locked, {"by_person": True})


def record_password(request: HttpRequest, account: Account, kind: str) -> None:
    """Record a new password, with what decides later whether it counts, and end a recovery that needed the old one."""
    details: dict[str, Any] = {}
    if kind == "password_reset":
        details["had_factors"] = second_factors_of(account).exists()
    record(account, kind, request, **details)
    recovery.end_own(account, AccountRecovery.Lapse.PASSWORD_CHANGED)


def _is_password_from_mail(account: Account) -> bool:
    """Return whether the password was chosen with a code from a mail, and no factor was used after it since.

    A password that was chosen before the account had factors counts: the mailbox alone was enough to sign in then.
    """
    events = SecurityEvent.objects.filter(account=account)
    reset = events.filter(kind="password_reset").order_by("-pk").first()
    if reset is None or not reset.details.get("had_factors"):
        return False
    sign_ins = events.filter(pk__gt=reset.pk, kind__in=("signed_in", "signed_in_new_browser"))
    used = sign_ins.values_list("details", flat=True)
    return not any(_AFTER_PASSWORD & set(details.get("methods", ())) for details in used)


def _purpose(account: Account) -> str:
    return f"recovery {account.pk}"
