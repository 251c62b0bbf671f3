"""The security check of the account's home: what a person signs in with, and the next best step for them."""

from dataclasses import dataclass

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes

from accounts.models import Account

Type = Authenticator.Type
FEW_CODES = 2


@dataclass(frozen=True)
class Step:
    """What the person would best do next; `page` is the URL name of where."""

    title: str
    why: str
    act: str
    page: str


_FIRST = Step(
    "Add a passkey",
    "You sign in with a password alone. A passkey can’t be guessed, and can’t be typed into a false page.",
    "Add a passkey",
    "mfa_add_webauthn",
)
_NO_CODES = Step(
    "Get recovery codes",
    "If you lose your phone or key, nothing else lets you past the second step.",
    "Get codes",
    "mfa_generate_recovery_codes",
)
_FEW = Step(
    "Get new recovery codes",
    "Only a few of your recovery codes are left.",
    "Replace them",
    "mfa_generate_recovery_codes",
)
_SPARE = Step(
    "Add a second passkey",
    "You sign in with one passkey alone. A second one, on another device, spares you the day the first is lost.",
    "Add a passkey",
    "mfa_add_webauthn",
)


@dataclass(frozen=True)
class SecurityCheck:
    """What the person signs in with, in words, and the next best step; None if there is none."""

    facts: list[str]
    step: Step | None


def check_security(account: Account) -> SecurityCheck:
    """Return what the account is guarded by."""
    rows = list(Authenticator.objects.filter(user=account))
    keys = sum(row.type == Type.WEBAUTHN for row in rows)
    has_app = any(row.type == Type.TOTP for row in rows)
    has_password = account.has_usable_password()
    codes = next((len(RecoveryCodes(row).get_unused_codes()) for row in rows if row.type == Type.RECOVERY_CODES), 0)
    facts = [
        *(["Password"] if has_password else []),
        *([f"{keys} passkey{'s' if keys > 1 else ''} or security key{'s' if keys > 1 else ''}"] if keys else []),
        *(["Authenticator app"] if has_app else []),
        *([f"{codes} recovery code{'s' if codes > 1 else ''}"] if codes else []),
    ]
    return SecurityCheck(facts, _next_step(keys, has_app, has_password, codes))


def _next_step(keys: int, has_app: bool, has_password: bool, codes: int) -> Step | None:
    if not keys and not has_app:
        return _FIRST
    if not codes:
        return _NO_CODES
    if codes <= FEW_CODES:
        return _FEW
    if keys == 1 and not has_app and not has_password:
        return _SPARE
    return None
