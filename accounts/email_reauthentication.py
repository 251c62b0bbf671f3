"""Confirming by a code from the mailbox that it is the owner: for people who have neither a password nor a factor.

django-allauth asks such people for nothing. See docs/accounts.md#people-without-a-password-and-without-a-factor.
"""

from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.account.internal.flows.login import record_authentication
from allauth.core.exceptions import ReauthenticationRequired
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from accounts.mail import mailbox_codes
from accounts.models import Account
from devportal.lib import clock

METHOD = "code"
# How long a code works (seconds).
LASTS = 15 * 60


def is_only_way(user: Any) -> bool:
    """Return whether the person can confirm in no other way."""
    if not isinstance(user, Account) or user.has_usable_password():
        return False
    return not Authenticator.objects.filter(user=user).exists()


def require(request: HttpRequest) -> None:
    """Raise ReauthenticationRequired for people who can confirm only like this, and have not done so lately."""
    if is_only_way(request.user) and not _is_confirmed(request):
        raise ReauthenticationRequired


def methods(user: Any) -> list[dict[str, Any]]:
    """Return the way to confirm, in the form of django-allauth's; empty for people who have another one."""
    if not is_only_way(user):
        return []
    return [
        {
            "id": "reauthenticate_by_email",
            "description": "Use a code from a mail",
            "url": reverse("account_reauthenticate_by_email"),
        }
    ]


def send_code(request: HttpRequest, account: Account) -> None:
    """Mail the code to the account's email address. Raises RateLimited."""
    mailbox_codes.send_code(request, "reauthentication_code", _purpose(account), account.email, LASTS)


def is_right(account: Account, code: str) -> bool:
    return mailbox_codes.is_right(_purpose(account), account.email, LASTS, code)


def note_confirmed(request: HttpRequest, account: Account) -> None:
    """Note in the session that the person has just confirmed."""
    record_authentication(request, account, method=METHOD, reauthenticated=True)


def _is_confirmed(request: HttpRequest) -> bool:
    oldest = clock.now().timestamp() - settings.ACCOUNT_REAUTHENTICATION_TIMEOUT
    records = get_authentication_records(request, request.user)
    return any(each["method"] == METHOD and each.get("reauthenticated") and each["at"] > oldest for each in records)


def _purpose(account: Account) -> str:
    return f"reauthenticate {account.pk}"
