"""Which second factors a person has."""

from collections.abc import Iterable
from dataclasses import dataclass

from allauth.mfa.models import Authenticator

from accounts.models import Account

Type = Authenticator.Type


@dataclass(frozen=True)
class Held:
    """The second factors of one person: what the pages may ask for."""

    has_app: bool = False
    codes_left: int = 0
    keys: int = 0  # passkeys and security keys

    @property
    def has_any(self) -> bool:
        """Whether signing in takes a second step; recovery codes alone ask for none."""
        return self.has_app or self.keys > 0


def is_first_factor(factor: Authenticator) -> bool:
    """Return whether the account has no other second factor; recovery codes are none."""
    others = Authenticator.objects.filter(user_id=factor.user_id).exclude(type=Type.RECOVERY_CODES)
    return not others.exclude(pk=factor.pk).exists()


def held_by(account: Account) -> Held:
    """Return the second factors of a person."""
    return held_among(Authenticator.objects.filter(user=account))


def held_among(factors: Iterable[Authenticator]) -> Held:
    """Return what these factors of one person are."""
    app, left, keys = False, 0, 0
    for row in factors:
        if row.type == Type.TOTP:
            app = True
        elif row.type == Type.RECOVERY_CODES:
            left = len(row.wrap().get_unused_codes())
        else:
            keys += 1
    return Held(app, left, keys)
