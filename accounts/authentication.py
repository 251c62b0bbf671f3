"""When and how the person of this session authenticated: the source of `auth_time` and `amr`.

allauth keeps records of each step, but none after a sign-up; so the moment of every sign-in is noted as well.
"""

from dataclasses import dataclass
from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.account.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.models import Account
from devportal.lib import clock

SESSION_KEY = "authentication"

# allauth's name of each method -> its `amr` values (RFC 8176).
_AMR = {"password": "pwd", "totp": "otp", "recovery_codes": "otp", "webauthn": "hwk", "code": "otp"}


@dataclass(frozen=True)
class Authentication:
    """One sign-in: the moment (seconds since 1970) and the methods used (RFC 8176)."""

    at: float
    methods: tuple[str, ...]


def current_authentication(request: HttpRequest) -> Authentication:
    """Return the latest authentication in this session; its `at` is 0 if none is known."""
    records = get_authentication_records(request, request.user)
    signed_in = request.session.get(SESSION_KEY, {})
    latest = max([record["at"] for record in records] + [signed_in.get("at", 0.0)])
    names = [record.get("type") or record["method"] for record in records]
    methods = sorted({_AMR[name] for name in names if name in _AMR})
    if len(methods) > 1:
        methods.append("mfa")
    return Authentication(at=latest, methods=tuple(methods))


def account_of(request: HttpRequest) -> Account:
    """Return the signed-in person, in views that nobody else gets to."""
    assert isinstance(request.user, Account)
    return request.user


def signed_in_lately(request: HttpRequest, seconds: int) -> bool:
    """Return whether the person signed in within these seconds, in this session, with every step that was asked.

    allauth counts its records of reauthentication alone; a sign-in proves as much, or more.
    """
    signed_in = request.session.get(SESSION_KEY, {})
    is_theirs = request.user.is_authenticated and signed_in.get("account") == request.user.pk
    return is_theirs and 0 <= clock.now().timestamp() - signed_in["at"] < seconds


@receiver(user_logged_in)
def record_sign_in_time(sender: Any, request: HttpRequest, user: Account, **kwargs: Any) -> None:
    request.session[SESSION_KEY] = {"at": clock.now().timestamp(), "account": user.pk}
