"""Account recovery that people start themselves at sign-in, when they have lost every factor.

They have typed the password, and type a code from the account's mailbox. A password that was chosen with a code from a
mail proves no more than the mailbox, until someone has signed in with a factor after it. Then the waiting time is
longer, and all browsers are signed out at its start (docs/accounts.md#recovery-at-sign-in).
"""

import enum
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest

from accounts.activity.recording import record
from accounts.entrance.reauthentication import second_factors_of
from accounts.mail import codes
from accounts.models import Account, AccountRecovery, SecurityEvent
from accounts.recovery import address_changes, waiting
from accounts.sessions.browser_sessions import HALF_SIGNED_IN, end_all_sessions, is_half_signed_in
from core import clock

# How long a code is valid (seconds).
LASTS = 15 * 60
# The codes of accounts/activity/kinds.py for factors that are used after the password.
_AFTER_PASSWORD = {"totp", "recovery_codes", "security_key"}


class Way(enum.Enum):
    """What someone who has lost every factor can do now."""

    WAIT = "wait"  # a recovery is under way
    PASSWORD = "password"  # they may start one, with the password and the mailbox
    MAILBOX = "mailbox"  # they may start one, but prove only the mailbox
    OPERATOR = "operator"  # only an operator may start one

    @property
    def hours(self) -> int:
        """The waiting time in hours."""
        return waiting.hours_by_mail() if self is Way.MAILBOX else waiting.hours()

    @property
    def wait(self) -> str:
        """The waiting time in words."""
        return f"{self.hours // 24} days" if self.hours % 24 == 0 and self.hours > 72 else f"{self.hours} hours"


def way_of(account: Account) -> Way:
    """Return what this person can do now. The page shows it, and `start` checks it again.

    Staff need an operator, as do people who changed their email address lately, and everyone shortly after another
    recovery. A person's own recovery lapses when they get a role, or when the account is turned off.
    """
    latest = clock.now() - timedelta(days=settings.ACCOUNT_RECOVERY_PAUSE_DAYS)
    lately = AccountRecovery.objects.filter(Q(ended_at=None) | Q(ended_at__gt=latest), account=account)
    rows, is_staff = list(lately), waiting.is_staff(account)
    if any(row.ended_at is None and not (row.is_own and is_staff) for row in rows) and account.is_active:
        return Way.WAIT
    if rows or is_staff or not account.is_active or address_changes.addresses_left(account):
        return Way.OPERATOR
    if not second_factors_of(account).exists():
        return Way.OPERATOR
    return Way.MAILBOX if _is_password_from_mail(account) else Way.PASSWORD


def code_of(account: Account) -> codes.MailboxCode:
    """Return the code with which the person starts a recovery."""
    return codes.MailboxCode("recovery_code", f"recovery {account.pk}", account.email, LASTS)


@transaction.atomic
def start(request: HttpRequest, account: Account, code: str) -> AccountRecovery:
    """Start a recovery of the account that signs in, and tell the person at every email address.

    Raises RecoveryRefused if the code is wrong, the sign-in has ended, or the person may not start one now.
    """
    locked = waiting.lock_account(account.pk)
    way = way_of(locked)
    may_start = way in (Way.PASSWORD, Way.MAILBOX) and is_half_signed_in(request, locked)
    if not (may_start and code_of(locked).is_right(code)):
        raise waiting.RecoveryRefused
    by_mail = way is Way.MAILBOX
    if by_mail:
        # Everyone who signs in from now on uses a factor, which ends the recovery (`waiting.end_if_used`).
        end_all_sessions(locked)
        request.session[HALF_SIGNED_IN] = locked.get_session_auth_hash()
    record(locked, "recovery_started", request)
    details = {"by_person": True} | ({"by_mail": True} if by_mail else {})
    return waiting.create(locked, locked, details, wait_hours=way.hours, by_mail=by_mail)


def record_password(request: HttpRequest, account: Account, kind: str) -> None:
    """Record a new password, with what decides later whether it counts, and end a recovery that needed the old one.

    A recovery that needed only the mailbox goes on if the new password was chosen with another code from there.
    """
    details: dict[str, Any] = {}
    if kind == "password_reset":
        details["had_factors"] = second_factors_of(account).exists()
    record(account, kind, request, **details)
    waiting.end_own(account, AccountRecovery.Lapse.PASSWORD_CHANGED, by_mail=kind != "password_reset")


def _is_password_from_mail(account: Account) -> bool:
    """Return whether the password was chosen with a code from an email, and no factor was used after it since.

    A password that was chosen before the account had factors counts: the mailbox alone was enough to sign in then.
    """
    events = SecurityEvent.objects.filter(account=account)
    reset = events.filter(kind="password_reset").order_by("-pk").first()
    if reset is None or not reset.details.get("had_factors"):
        return False
    sign_ins = events.filter(pk__gt=reset.pk, kind__in=("signed_in", "signed_in_new_browser"))
    used = sign_ins.values_list("details", flat=True)
    return not any(_AFTER_PASSWORD & set(details.get("methods", ())) for details in used)
