"""Records actions on django-allauth's pages: signing in, and changing passwords, email addresses and factors.

Some of its signals are not used. A new email address is added and confirmed in the same step that changes the account's
email address, and only that is recorded. A new password is recorded where it is stored (`AccountAdapter.set_password`),
in the same transaction.
"""

from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.account.models import EmailAddress
from allauth.account.signals import (
    email_changed,
    email_removed,
    user_logged_in,
    user_signed_up,
)
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed, authenticator_reset, authenticator_used
from django.conf import settings
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.activity.kinds import METHODS
from accounts.activity.recording import record
from accounts.entrance import sign_up
from accounts.factors import factor_events
from accounts.factors.added_factors import record_factor
from accounts.models import Account, SecurityEvent
from accounts.sessions import known_browsers
from accounts.sessions.authentication import MAILED_CODE
from core.http.places import browser_name, user_agent
from core.limits import Rate, RateLimited, hit, usage

Type = Authenticator.Type
DAY = 24 * 3600


def methods_of(records: list[dict[str, Any]]) -> list[str]:
    """Return how someone signed in, as codes of `kinds.METHODS`; after a sign-up there is no record."""
    used = dict.fromkeys(map(_method, records))
    return [code for code in used if code in METHODS] or ["sign_up"]


def _method(record: dict[str, Any]) -> str:
    if record.get("type") == Type.WEBAUTHN:
        return "passkey" if record.get("passwordless") else "security_key"
    name = str(record.get("type") or record["method"])
    return MAILED_CODE if name == "password_reset" else name


@receiver(user_signed_up)
def signed_up(sender: Any, request: HttpRequest, user: Account, **kwargs: Any) -> None:
    """Record a sign-up, except one with the email address of an account that an operator created."""
    is_new = not sign_up.is_again(request, user)
    if is_new or SecurityEvent.objects.filter(account=user, kind="signed_up").exists():
        record(user, "signed_up", request)


@receiver(user_logged_in)
def signed_in(sender: Any, request: HttpRequest, user: Account, **kwargs: Any) -> None:
    """Record a sign-in. No email is sent after a new password, since the email about that was just sent."""
    records = get_authentication_records(request, user)
    methods = methods_of(records)
    is_first = getattr(request, "is_first_sign_in", False)
    if is_first or known_browsers.find_known_browser(request, user):
        record(user, "signed_in", request, methods=methods)
        return
    after_reset = any(entry["method"] == "password_reset" for entry in records)
    record(
        user, "signed_in_new_browser", request, notify=not after_reset and _may_notify(request, user), methods=methods
    )


def _may_notify(request: HttpRequest, account: Account) -> bool:
    """Return whether an email about a sign-in from a new browser is sent (docs/accounts.md#how-often)."""
    name = browser_name(user_agent(request))
    try:
        hit(Rate("mails of new browsers, alike", 1, DAY), account.pk, usage.address(request), name)
        hit(Rate("mails of new browsers", settings.NEW_BROWSER_MAILS_PER_DAY, DAY), account.pk)
    except RateLimited:
        return False
    return True


@receiver(email_changed)
def changed_address(
    sender: Any,
    request: HttpRequest,
    user: Account,
    from_email_address: EmailAddress | None,
    to_email_address: EmailAddress,
    **kwargs: Any,
) -> None:
    """Notify the new email address; the old one gets a code if it was verified (accounts/recovery/address_changes.py).

    allauth may report another of the account's email addresses as the old one; the adapter knows the right one.
    """
    if from_email_address is None or from_email_address.email == to_email_address.email:
        return
    old = getattr(request, "former_email", "") or from_email_address.email
    record(user, "address_changed", request, old=old, new=to_email_address.email)


@receiver(email_removed)
def removed_address(
    sender: Any, request: HttpRequest, user: Account, email_address: EmailAddress, **kwargs: Any
) -> None:
    also_to = [email_address.email] if email_address.verified else []
    record(user, "address_removed", request, also_to=also_to, address=email_address.email)


@receiver(authenticator_added)
def added_factor(sender: Any, request: HttpRequest, user: Account, authenticator: Authenticator, **kwargs: Any) -> None:
    """Record a new factor, with its primary key, so that it can be undone (accounts/recovery/undoing.py).

    Recovery codes that are created together with another factor are mentioned in its mail. At sign-up the email address
    is not verified yet.
    """
    record_factor(request, user, authenticator)


@receiver(authenticator_removed)
def removed_factor(
    sender: Any, request: HttpRequest, user: Account, authenticator: Authenticator, **kwargs: Any
) -> None:
    """Record a removed factor. Recovery codes that were removed with it are mentioned in its mail."""
    ends_codes = getattr(request, "ends_recovery_codes", False)
    details = factor_events.removed_details(authenticator, ends_codes=ends_codes)
    notify = not (ends_codes and authenticator.type == Type.RECOVERY_CODES)
    record(user, factor_events.removed_kind(authenticator), request, notify=notify, **details)


@receiver(authenticator_reset)
def made_recovery_codes(
    sender: Any, request: HttpRequest, user: Account, authenticator: Authenticator, **kwargs: Any
) -> None:
    record_factor(request, user, authenticator, notify=True)


@receiver(authenticator_used)
def used_recovery_code(
    sender: Any, request: HttpRequest, user: Account, authenticator: Authenticator, **kwargs: Any
) -> None:
    if authenticator.type == Type.RECOVERY_CODES:
        # The signal's row was read before the code was marked as used.
        left = len(Authenticator.objects.get(pk=authenticator.pk).wrap().get_unused_codes())
        record(user, "recovery_code_used", request, left=left)
