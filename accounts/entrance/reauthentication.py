"""Reauthentication before sensitive actions: the rule, and codes by email for people with no password or passkey."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY, get_authentication_records
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed, authenticator_reset
from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.dispatch import receiver
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from accounts.allauth_internals import record_authentication
from accounts.entrance.staff import needs_verified_keys
from accounts.mail import codes
from accounts.models import Account
from accounts.sessions.authentication import (
    COMPLETES,
    MAILED_CODE,
    shown_factors,
    signed_in_lately,
    verified_keys,
    was_added_here,
)
from core import clock
from core.http import hosts

# How long a code is valid (seconds).
LASTS = 15 * 60


def is_only_way(user: Any) -> bool:
    """Return whether the person can confirm in no other way."""
    if not isinstance(user, Account) or user.has_usable_password():
        return False
    return not Authenticator.objects.filter(user=user).exists()


def email_methods(user: Any) -> list[dict[str, Any]]:
    """Return this method in django-allauth's form; empty for people who have another one."""
    if not is_only_way(user):
        return []
    return [
        {
            "id": "reauthenticate_by_email",
            "description": "Use a code from an email",
            "url": reverse("account_reauthenticate_by_email"),
        }
    ]


def code_of(account: Account) -> codes.MailboxCode:
    """Return the code with which the person confirms."""
    return codes.MailboxCode("reauthentication_code", f"reauthenticate {account.pk}", account.email, LASTS)


def note_confirmed(request: HttpRequest, account: Account) -> None:
    """Store in the session that the person has just confirmed."""
    record_authentication(request, account, method=MAILED_CODE, reauthenticated=True)


def _has_shown_code(request: HttpRequest, seconds: int) -> bool:
    oldest = clock.now().timestamp() - seconds
    records = get_authentication_records(request, request.user)
    return any(record["method"] == MAILED_CODE and record["at"] > oldest for record in records)


# People with a second factor confirm with one that was not added in this session; the password alone is only enough for
# accounts without one. See docs/sign-in.md#reauthentication.

Type = Authenticator.Type
_KNOWN = "factors_of_person"  # attribute of the request
ADDED_HERE = "You added this after you signed in here, so you can't use it yet. Use another one, or sign in again."


def second_factors_of(account: Account) -> QuerySet[Authenticator]:
    """Return the second factors of the account; recovery codes are not included."""
    found: QuerySet[Authenticator] = Authenticator.objects.filter(user=account).exclude(type=Type.RECOVERY_CODES)
    return found


def asks_for_factor(request: HttpRequest) -> bool:
    """Return whether the person has a second factor, and so has to confirm with that."""
    return any(factor.type != Type.RECOVERY_CODES for factor in factors_of_person(request))


def factors_of_person(request: HttpRequest) -> list[Authenticator]:
    """Return the factors of the signed-in person, read once for each request."""
    if not request.user.is_authenticated:
        return []
    known: list[Authenticator] | None = getattr(request, _KNOWN, None)
    if known is None:
        known = list(Authenticator.objects.filter(user_id=request.user.pk))
        setattr(request, _KNOWN, known)
    return known


@receiver([authenticator_added, authenticator_removed, authenticator_reset])
def forget_factors(sender: Any, request: HttpRequest, **kwargs: Any) -> None:
    """Make later code in this request read the factors again, because they have changed."""
    request.__dict__.pop(_KNOWN, None)


def is_confirmed(request: HttpRequest) -> bool:
    """Return whether the person authenticated sufficiently within ACCOUNT_REAUTHENTICATION_TIMEOUT."""
    if not isinstance(request.user, Account):
        return False
    seconds = settings.ACCOUNT_REAUTHENTICATION_TIMEOUT
    if not asks_for_factor(request):
        return signed_in_lately(request, seconds) or _has_shown_code(request, seconds)
    oldest, shown = clock.now().timestamp() - seconds, shown_factors(request, request.user)
    needs_verification, verified = needs_verified_keys(request.user), verified_keys(request, request.user)
    return any(
        shown.get(factor.pk, 0) > oldest
        and (factor.type != Type.WEBAUTHN or not needs_verification or factor.pk in verified)
        for factor in _usable(request)
    )


def drop_confirmations(request: HttpRequest) -> None:
    """Make earlier confirmations invalid that `is_confirmed` does not count.

    django-allauth checks for its mark on the newest record itself, whatever the adapter returns.
    """
    records = request.session.get(AUTHENTICATION_METHODS_SESSION_KEY, [])
    if any(_is_outdated(request, record) for record in records):
        request.session[AUTHENTICATION_METHODS_SESSION_KEY] = [
            {COMPLETES if name == "reauthenticated" else name: value for name, value in record.items()}
            if _is_outdated(request, record)
            else record
            for record in records
        ]


def _is_outdated(request: HttpRequest, record: dict[str, Any]) -> bool:
    """Return whether a record is a confirmation with less than the person has now, or with a factor that is gone."""
    if "reauthenticated" not in record:
        return False
    held = {factor.pk for factor in factors_of_person(request)}
    return asks_for_factor(request) or (record["method"] == "mfa" and record["id"] not in held)


def methods(request: HttpRequest, offered: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the methods of django-allauth that are offered to the person, the best first."""
    if not asks_for_factor(request):
        return offered
    types = {factor.type for factor in _usable(request)}
    ways = {"mfa_reauthenticate:webauthn": {Type.WEBAUTHN}, "mfa_reauthenticate": {Type.TOTP, Type.RECOVERY_CODES}}
    found = [method for method in offered if types & ways.get(method["id"], set())]
    if not found:
        return [{"id": "sign_in_again", "description": "Sign in again", "url": reverse("account_sign_in_again")}]
    return sorted(found, key=lambda method: "webauthn" not in method["id"] or not hosts.work_on(request))


def url(request: HttpRequest, following: str) -> str:
    """Return the URL of the page on which the person confirms, and which continues to `following`."""
    [first, *_] = get_adapter().get_reauthentication_methods(request.user) or [{"url": reverse("account_login")}]
    return f"{first['url']}?{urlencode({REDIRECT_FIELD_NAME: following})}"


def check_not_added_here(request: HttpRequest, factor: Authenticator) -> None:
    """Raise ValidationError if the person added this factor in this session."""
    if was_added_here(request, factor):
        raise ValidationError(ADDED_HERE, code="added_here")


def _usable(request: HttpRequest) -> list[Authenticator]:
    return [factor for factor in factors_of_person(request) if not was_added_here(request, factor)]
