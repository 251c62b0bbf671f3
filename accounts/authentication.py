"""When and how the person of this session authenticated: the source of `auth_time`, `amr` and the level.

allauth keeps records of each step, but none after a sign-up, and of a key not whether its own lock was opened; so the
moment of every sign-in is noted as well, and what allauth leaves out.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.account.signals import user_logged_in, user_signed_up
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_used
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.models import Account
from devportal.lib import clock

SESSION_KEY = "authentication"
STEPS_KEY = "authentication_steps"
MAX_STEPS = 20  # noted in a session; the newest are kept

PASSWORD, KEY = "password", str(Authenticator.Type.WEBAUTHN)
CODE = str(Authenticator.Type.TOTP)
CODES = (CODE, str(Authenticator.Type.RECOVERY_CODES))

# allauth's name of each method -> its `amr` values (RFC 8176). Whether a key is kept in hardware (`hwk`) can't be known
# without its attestation, which is not asked for; that somebody touched it (`user`) can.
_AMR = {
    PASSWORD: ("pwd",),
    KEY: ("pop", "user"),
    "code": ("otp",),
} | dict.fromkeys(CODES, ("otp",))


@dataclass(frozen=True)
class Step:
    """One thing that the person showed: its kind, as allauth names it, and when (seconds since 1970).

    `verified`: the key checked a fingerprint, a face or a PIN (WebAuthn §6.1, UV); of keys alone.
    """

    kind: str
    at: float
    verified: bool = False


@dataclass(frozen=True)
class Authentication:
    """What was shown in a session: the moment of the latest sign-in (seconds since 1970), and each step.

    `methods` are those of RFC 8176. Setting up a key or an app is a step, as its key or code is checked; it is not a
    sign-in, and leaves `at` as it is.
    """

    at: float
    methods: tuple[str, ...]
    steps: tuple[Step, ...] = ()

    @property
    def has_password(self) -> bool:
        return any(step.kind == PASSWORD for step in self.steps)

    def since(self, moment: float) -> "Authentication":
        """Return what of it was shown at `moment` (seconds since 1970) or later."""
        steps = tuple(step for step in self.steps if step.at >= moment)
        return replace(self, methods=_methods_of(steps), steps=steps)


def current_authentication(request: HttpRequest) -> Authentication:
    """Return the latest authentication in this session; its `at` is 0 if none is known."""
    records = get_authentication_records(request, request.user)
    signed_in = request.session.get(SESSION_KEY, {})
    latest = max([record["at"] for record in records] + [signed_in.get("at", 0.0)])
    recorded = [Step(record.get("type") or record["method"], record["at"]) for record in records]
    steps = (*recorded, *(Step(**noted) for noted in _noted(request, request.user)))
    return Authentication(at=latest, methods=_methods_of(steps), steps=steps)


def has_two_factors(steps: Iterable[Step]) -> bool:
    """Return whether these steps are two factors: a password and a key or code, or a key that checked who holds it."""
    kinds = {step.kind for step in steps}
    beside_password = PASSWORD in kinds and not kinds.isdisjoint((KEY, *CODES))
    return beside_password or any(step.kind == KEY and step.verified for step in steps)


def _methods_of(steps: tuple[Step, ...]) -> tuple[str, ...]:
    methods = sorted({method for step in steps for method in _AMR.get(step.kind, ())})
    return (*methods, "mfa") if has_two_factors(steps) else tuple(methods)


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


# --- What allauth does not record ---


def _noted(request: HttpRequest, user: Any) -> list[dict[str, Any]]:
    """Return the steps that were noted in this session for this person, and for nobody before them."""
    noted = request.session.get(STEPS_KEY, {})
    steps: list[dict[str, Any]] = noted["steps"] if user.pk is not None and noted.get("of") == str(user.pk) else []
    return steps


def _note(request: HttpRequest, user: Account, kind: str, *, verified: bool = False) -> None:
    step = {"kind": kind, "at": clock.now().timestamp(), "verified": verified}
    request.session[STEPS_KEY] = {"of": str(user.pk), "steps": [*_noted(request, user), step][-MAX_STEPS:]}


@receiver(user_logged_in)
def record_sign_in_time(sender: Any, request: HttpRequest, user: Account, **kwargs: Any) -> None:
    request.session[SESSION_KEY] = {"at": clock.now().timestamp(), "account": user.pk}


@receiver(user_signed_up)
def note_first_password(sender: Any, request: HttpRequest, user: Account, **kwargs: Any) -> None:
    if user.has_usable_password():
        _note(request, user, PASSWORD)


@receiver(authenticator_added)
def note_enrolment(
    sender: Any, request: HttpRequest, user: Account, authenticator: Authenticator, **kwargs: Any
) -> None:
    """Note that a key or an app was set up: allauth has just checked the key, or a code of the app."""
    if authenticator.type == KEY:
        verified = authenticator.wrap().authenticator_data.is_user_verified()
        _note(request, user, KEY, verified=verified)
    elif authenticator.type == CODE:
        _note(request, user, CODE)


@receiver(authenticator_used)
def note_verified_key(
    sender: Any, request: HttpRequest, user: Account, authenticator: Authenticator, **kwargs: Any
) -> None:
    """Note that a key opened its own lock; the forms in accounts/key_forms.py have read that from its answer."""
    if getattr(authenticator, "user_was_verified", False):
        _note(request, user, KEY, verified=True)
