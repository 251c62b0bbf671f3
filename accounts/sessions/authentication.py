"""When and how the person of a session authenticated: the source of `auth_time`, `amr` and `acr`."""

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.account.signals import user_logged_in, user_signed_up
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_reset, authenticator_used
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.models import Account
from accounts.sessions.keys import held_among, is_first_factor
from core import clock

SESSION_KEY = "authentication"
STEPS_KEY = "authentication_steps"
# Session keys: the account's first factor, if it was set up in this session; other factors that were added in it;
# factors that are newer than its sign-in but were used in it; and keys that verified their user in it.
FIRST_KEY, ADDED_KEY, LATE_KEY, VERIFIED_KEY = "first_factor", "added_factors", "late_factors", "verified_keys"
MAX_STEPS = 20  # stored in a session; the newest are kept
# Mark of a password in allauth's records: with it, everything was presented that the account needed at the time.
COMPLETES = "completes"

PASSWORD, KEY = "password", str(Authenticator.Type.WEBAUTHN)
CODE = str(Authenticator.Type.TOTP)
CODES = (CODE, str(Authenticator.Type.RECOVERY_CODES))
MAILED_CODE = "mailed_code"

# Method in the records of a session -> its `amr` values (RFC 8176). Whether a key is stored in hardware (`hwk`) is
# unknown, because no attestation is requested; but a test of user presence (`user`) always takes place.
_AMR = {
    PASSWORD: ("pwd",),
    KEY: ("pop", "user"),
    MAILED_CODE: ("otp",),
} | dict.fromkeys(CODES, ("otp",))


@dataclass(frozen=True)
class Step:
    """One authentication step: its kind, as allauth names it, and its time (seconds since 1970).

    `verified`: the key checked a fingerprint, a face or a PIN (WebAuthn §6.1, UV); only for keys. `factor`: the primary
    key of the second factor, None for steps without one.
    """

    kind: str
    at: float
    verified: bool = False
    factor: int | None = None


@dataclass(frozen=True)
class Authentication:
    """The authentication in a session: the time of the latest sign-in (seconds since 1970), and each step.

    `methods` are those of RFC 8176. Setting up the account's first key or app is a step, because its key or code is
    checked; it is not a sign-in, and does not change `at`. Setting up another one is not a step.
    """

    at: float
    methods: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    signed_in_at: float = 0.0  # when this session began; reauthentication does not change it
    first_factor: int | None = None  # primary key of the account's first factor, if it was set up in this session

    def counts(self, factor: Authenticator) -> bool:
        """Return whether a factor of the account counts for the admin and for levels (`acr`).

        A factor counts if it is older than the sign-in of this session, or if it is the account's first and was set up
        here. Otherwise a session that only knows the password could add a factor, and use that.
        """
        return bool(factor.created_at.timestamp() <= self.signed_in_at or factor.pk == self.first_factor)

    @property
    def has_password(self) -> bool:
        return any(step.kind == PASSWORD for step in self.steps)

    def since(self, moment: float) -> "Authentication":
        """Return the part that took place at `moment` (seconds since 1970) or later."""
        steps = tuple(step for step in self.steps if step.at >= moment)
        return replace(self, methods=_methods_of(steps), steps=steps)

    def without_removed(self, account: Account) -> "Authentication":
        """Return the part that used what the account still has: a factor that was removed since counts for nothing."""
        used = {step.factor for step in self.steps if step.factor is not None}
        if not used:
            return self
        left = set(Authenticator.objects.filter(user=account, pk__in=used).values_list("pk", flat=True))
        steps = tuple(step for step in self.steps if step.factor is None or step.factor in left)
        return replace(self, methods=_methods_of(steps), steps=steps)


def current_authentication(request: HttpRequest) -> Authentication:
    """Return the latest authentication in this session; its `at` is 0 if there is none."""
    records = get_authentication_records(request, request.user)
    signed_in = request.session.get(SESSION_KEY, {})
    latest = max([record["at"] for record in records if _is_complete(record)] + [signed_in.get("at", 0.0)])
    late = {*_ids(request, LATE_KEY, request.user), *_ids(request, ADDED_KEY, request.user)}
    recorded = [
        Step(record.get("type") or record["method"], record["at"], factor=record.get("id"))
        for record in records
        if record.get("id") not in late
    ]
    steps = (*recorded, *(Step(**noted) for noted in _noted(request, request.user)))
    first = _of(request, FIRST_KEY, request.user)
    return Authentication(
        at=latest,
        methods=_methods_of(steps),
        steps=steps,
        signed_in_at=signed_in["at"] if request.user.pk and signed_in.get("account") == request.user.pk else 0.0,
        first_factor=first["id"] if first else None,
    )


def _is_complete(record: dict[str, Any]) -> bool:
    """Return whether a record is a reauthentication; a password alone is none for people with a second factor."""
    return record["method"] != PASSWORD or bool(record.get("reauthenticated") or record.get(COMPLETES))


def has_two_factors(steps: Iterable[Step]) -> bool:
    """Return whether these steps are two factors: a password and a key or code, or a key that verified its user."""
    kinds = {step.kind for step in steps}
    beside_password = PASSWORD in kinds and not kinds.isdisjoint((KEY, *CODES))
    return beside_password or any(step.kind == KEY and step.verified for step in steps)


def _methods_of(steps: tuple[Step, ...]) -> tuple[str, ...]:
    methods = sorted({method for step in steps for method in _AMR.get(step.kind, ())})
    return (*methods, "mfa") if has_two_factors(steps) else tuple(methods)


def account_of(request: HttpRequest) -> Account:
    """Return the signed-in person, in views that require a sign-in."""
    assert isinstance(request.user, Account)
    return request.user


def signed_in_lately(request: HttpRequest, seconds: int) -> bool:
    """Return whether the person signed in within these seconds, in this session, with all required steps.

    allauth only counts its records of reauthentication, but a sign-in proves as much or more.
    """
    signed_in = request.session.get(SESSION_KEY, {})
    is_theirs = request.user.is_authenticated and signed_in.get("account") == request.user.pk
    return is_theirs and 0 <= clock.now().timestamp() - signed_in["at"] < seconds


# --- The factors of this session ---


def was_added_here(request: HttpRequest, factor: Authenticator) -> bool:
    """Return whether the person added the factor in this session, when they already had another one."""
    return factor.pk in _ids(request, ADDED_KEY, request.user)


def shown_factors(request: HttpRequest, account: Account) -> dict[int, float]:
    """Return the factors that were used or first set up in this session: {primary key: time in seconds since 1970}."""
    records = get_authentication_records(request, account)
    shown: dict[int, float] = {record["id"]: record["at"] for record in records if record["method"] == "mfa"}
    first = _of(request, FIRST_KEY, account)
    return {first["id"]: first["at"], **shown} if first else shown


def verified_keys(request: HttpRequest, account: Account) -> list[int]:
    """Return the keys that checked a fingerprint, a face or a PIN in this session."""
    return _ids(request, VERIFIED_KEY, account)


def _of(request: HttpRequest, key: str, account: Any) -> dict[str, Any] | None:
    noted: dict[str, Any] = request.session.get(key) or {}
    return noted if account.pk is not None and noted.get("of") == str(account.pk) else None


def _ids(request: HttpRequest, key: str, account: Any) -> list[int]:
    noted: dict[str, dict[str, str]] = request.session.get(key, {})
    return [int(pk) for pk, entry in noted.items() if account.pk is not None and entry["of"] == str(account.pk)]


def _note_id(request: HttpRequest, key: str, account: Account, factor: Authenticator) -> None:
    # Each factor is a separate value, so that two requests at the same time store both (core/http/sessions.py).
    request.session[key] = request.session.get(key, {}) | {str(factor.pk): {"of": str(account.pk)}}


# --- Steps that allauth does not record ---


def _noted(request: HttpRequest, user: Any) -> list[dict[str, Any]]:
    """Return the steps that were stored in this session for this person; those of other people are ignored."""
    noted = request.session.get(STEPS_KEY, {})
    steps: list[dict[str, Any]] = noted["steps"] if user.pk is not None and noted.get("of") == str(user.pk) else []
    return steps


def _note(
    request: HttpRequest, user: Account, kind: str, *, verified: bool = False, factor: Authenticator | None = None
) -> None:
    step = {
        "kind": kind,
        "at": clock.now().timestamp(),
        "verified": verified,
        "factor": factor.pk if factor else None,
    }
    request.session[STEPS_KEY] = {"of": str(user.pk), "steps": [*_noted(request, user), step][-MAX_STEPS:]}


@receiver(user_logged_in)
def record_sign_in_time(sender: Any, request: HttpRequest, user: Account, **kwargs: Any) -> None:
    request.session[SESSION_KEY] = {"at": clock.now().timestamp(), "account": user.pk}


@receiver(user_signed_up)
def note_first_password(sender: Any, request: HttpRequest, user: Account, **kwargs: Any) -> None:
    if user.has_usable_password():
        _note(request, user, PASSWORD)


@receiver([authenticator_added, authenticator_reset])
def note_enrolment(
    sender: Any, request: HttpRequest, user: Account, authenticator: Authenticator, **kwargs: Any
) -> None:
    """Record the account's first key or app as a step: allauth has just checked the key, or a code of the app.

    Another one is not a step. It would raise the level of a session in which the existing factors were never used.
    """
    if authenticator.type in (KEY, CODE) and is_first_factor(authenticator):
        note_first_factor(request, user, authenticator)
    else:
        _note_id(request, ADDED_KEY, user, authenticator)


def note_first_factor(request: HttpRequest, user: Account, factor: Authenticator) -> None:
    """Store that the account's first key or app was set up in this session; a second call changes nothing."""
    noted = _of(request, FIRST_KEY, user)
    if noted and noted["id"] == factor.pk:
        return
    request.session[FIRST_KEY] = {"of": str(user.pk), "id": factor.pk, "at": clock.now().timestamp()}
    verified = factor.type == KEY and factor.wrap().authenticator_data.is_user_verified()
    _note(request, user, factor.type, verified=verified, factor=factor)
    if verified:
        _note_id(request, VERIFIED_KEY, user, factor)


@receiver(authenticator_used)
def note_use(sender: Any, request: HttpRequest, user: Account, authenticator: Authenticator, **kwargs: Any) -> None:
    """Store that a key verified its user, as the forms in accounts/factors/forms.py have read from its response.

    A factor that is newer than this session's sign-in confirms the person, but does not raise the level.
    """
    if request.user == user and not current_authentication(request).counts(authenticator):
        _note_id(request, LATE_KEY, user, authenticator)
    elif getattr(authenticator, "user_was_verified", False):
        _note(request, user, KEY, verified=True, factor=authenticator)
        _note_id(request, VERIFIED_KEY, user, authenticator)


# Only steps that took place in this session count, not the ones that the person could do. The sign-in service names
# the levels (docs/sign-in.md#authentication-levels).


class Level(enum.IntEnum):
    """A level of authentication; a higher one includes the lower ones."""

    ONE_FACTOR = 0
    TWO_FACTORS = 1
    # A key bound to this service's domain (WebAuthn) that checked a fingerprint, a face or a PIN.
    PHISHING_RESISTANT = 2


def level_of(steps: Iterable[Step]) -> Level:
    """Return the level that these steps reach together."""
    done = tuple(steps)
    if any(step.kind == KEY and step.verified for step in done):
        return Level.PHISHING_RESISTANT
    return Level.TWO_FACTORS if has_two_factors(done) else Level.ONE_FACTOR


@dataclass(frozen=True)
class Means:
    """The means by which a person can reach a level."""

    password: bool
    key: bool
    code: bool  # an authenticator app, or recovery codes

    def reach(self, level: Level) -> bool:
        """Return whether `level` can be reached without setting anything up."""
        if level == Level.TWO_FACTORS:
            return self.key or (self.password and self.code)
        return self.key or level == Level.ONE_FACTOR

    def next_of_two(self, authentication: Authentication) -> str:
        """Return the missing second factor beside a key: PASSWORD, then CODE; "" if the person has neither."""
        if not self.password or not (self.key or self.code):
            return ""
        if not authentication.has_password:
            return PASSWORD
        return CODE if self.code else ""


def means_of(account: Account, counts: Callable[[Authenticator], bool] | None = None) -> Means:
    """Return the person's means, in one statement; with `counts`, only the factors for which it returns True."""
    factors = Authenticator.objects.filter(user=account)
    return means_among(account, (factor for factor in factors if counts is None or counts(factor)))


def means_among(account: Account, factors: Iterable[Authenticator]) -> Means:
    """Return the person's means with their password and these factors."""
    held = held_among(factors)
    return Means(account.has_usable_password(), held.keys > 0, held.has_app or held.codes_left > 0)
