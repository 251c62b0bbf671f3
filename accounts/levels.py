"""How much the person of this session has shown: one factor, two, or a key that can't be phished.

What counts is what was done in this session (accounts/authentication.py), not what the person could do. The sign-in
service gives each level its name (docs/sign-in.md#authentication-levels).
"""

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from allauth.mfa.models import Authenticator

from accounts.authentication import CODE, KEY, PASSWORD, Authentication, Step, has_two_factors
from accounts.factors.held import held_among
from accounts.models import Account


class Level(enum.IntEnum):
    """A level of authentication; a higher one includes those below."""

    ONE_FACTOR = 0
    TWO_FACTORS = 1
    # A key bound to this service's address (WebAuthn) whose own lock was opened: a fingerprint, a face or a PIN.
    PHISHING_RESISTANT = 2


def level_of(steps: Iterable[Step]) -> Level:
    """Return the level that these steps reach together."""
    done = tuple(steps)
    if any(step.kind == KEY and step.verified for step in done):
        return Level.PHISHING_RESISTANT
    return Level.TWO_FACTORS if has_two_factors(done) else Level.ONE_FACTOR


@dataclass(frozen=True)
class Means:
    """What a person has to reach a level with."""

    password: bool
    key: bool
    code: bool  # an authenticator app, or recovery codes

    def reach(self, level: Level) -> bool:
        """Return whether `level` can be reached without setting anything up."""
        if level == Level.TWO_FACTORS:
            return self.key or (self.password and self.code)
        return self.key or level == Level.ONE_FACTOR

    def next_of_two(self, authentication: Authentication) -> str:
        """Return what leads on to two factors beside a key: PASSWORD, then CODE; "" if neither does."""
        if not self.password or not (self.key or self.code):
            return ""
        if not authentication.has_password:
            return PASSWORD
        return CODE if self.code else ""


def means_of(account: Account, counts: Callable[[Authenticator], bool] | None = None) -> Means:
    """Return what the person has, in one statement; with `counts`, only the factors for which it returns True."""
    factors = Authenticator.objects.filter(user=account)
    return means_among(account, (factor for factor in factors if counts is None or counts(factor)))


def means_among(account: Account, factors: Iterable[Authenticator]) -> Means:
    """Return what the person has with their password and these factors."""
    held = held_among(factors)
    return Means(account.has_usable_password(), held.keys > 0, held.has_app or held.codes_left > 0)
