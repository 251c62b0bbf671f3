"""Two-step verification of staff: the admin only opens for people who used a second factor in this session.

A factor counts if it is older than the sign-in of this session, or if it is the account's first and was set up here. A
passkey or security key also has to check a fingerprint, a face or a PIN (docs/accounts.md#staff).
"""

from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.http import HttpRequest

from accounts.models import Account
from accounts.sessions.authentication import current_authentication, shown_factors, verified_keys
from core import clock
from core.http.sessions import IN_ADMIN

WANTED = "staff_wanted"  # session key: the requested page of the admin
Type = Authenticator.Type


def needs_verified_keys(account: Account) -> bool:
    """Return whether the keys of this person have to verify their user each time."""
    return account.is_staff and settings.ADMIN_SECOND_FACTOR


def is_second_factor_missing(request: HttpRequest) -> bool:
    """Return whether this session still has to use a second factor before the admin opens.

    A passkey without a password counts as two factors, because the device asked for a fingerprint, a face or a PIN.
    """
    if IN_ADMIN not in request.session and not signed_in_since_idle(request):
        return True
    account: Any = request.user
    factors = list(Authenticator.objects.filter(user_id=account.pk))
    if all(factor.type == Type.RECOVERY_CODES for factor in factors):
        return True
    counts = current_authentication(request).counts
    shown, verified = shown_factors(request, account), verified_keys(request, account)
    return not any(
        factor.pk in shown and counts(factor) and (factor.type != Type.WEBAUTHN or factor.pk in verified)
        for factor in factors
    )


def lacks_second_factor(request: HttpRequest) -> bool:
    """Return whether a second factor is still missing for pages that only staff may see (ADMIN_SECOND_FACTOR)."""
    return settings.ADMIN_SECOND_FACTOR and is_second_factor_missing(request)


def signed_in_since_idle(request: HttpRequest) -> bool:
    """Return whether the person signed in or reauthenticated within ADMIN_IDLE_SECONDS.

    The first page of the admin in a session checks this, because older authentication is not enough. Later, the idle
    time-out of the session decides (core/http/sessions.py).
    """
    age = clock.now().timestamp() - current_authentication(request).at
    return age <= settings.ADMIN_IDLE_SECONDS


def types_that_count(request: HttpRequest) -> set[str]:
    """Return the types of the person's factors that may open the admin in this session, once they are used."""
    account: Any = request.user
    counts = current_authentication(request).counts
    return {factor.type for factor in Authenticator.objects.filter(user_id=account.pk) if counts(factor)}
