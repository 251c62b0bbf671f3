"""Which second factors a person has."""

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


def held_by(account: Account) -> Held:
    """Return the second factors of a person."""
    app, left, keys = False, 0, 0
    for row in Authenticator.objects.filter(user=account):
        if row.type == Type.TOTP:
            app = True
        elif row.type == Type.RECOVERY_CODES:
            left = len(row.wrap().get_unused_codes())
        else:
            keys += 1
    return Held(app, left, keys)
