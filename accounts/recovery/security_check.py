"""The security check on the account's home page: how a person signs in, and the best next step."""

from collections.abc import Collection
from dataclasses import dataclass

from allauth.mfa.models import Authenticator

from accounts.models import Account, SecurityEvent
from accounts.sessions.keys import Held, held_among
from core.messages import fill_in

Type = Authenticator.Type

FEW_CODES = 2


@dataclass(frozen=True)
class Step:
    """The best next step for the person; `page` is the URL name of its page."""

    title: str
    why: str
    act: str
    page: str


_FIRST = Step(
    "Add a passkey",
    "A stolen password is then not enough, and fake pages can’t steal it.",
    "Add a passkey",
    "mfa_add_webauthn",
)
_WITHOUT_PASSWORD = Step(
    "Add a passkey",
    "You have neither a password nor a passkey, so anyone who can read your email can sign in.",
    "Add a passkey",
    "mfa_add_webauthn",
)
_NO_CODES = Step(
    "Get recovery codes",
    "If you lose your phone or key, you have no other way to sign in.",
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
    "You have only one passkey. With a second one on another device, you can still sign in if you lose the first.",
    "Add a passkey",
    "mfa_add_webauthn",
)


_LOST_TITLE = "Check that you still have {names}"
_LOST = (
    "You used a recovery code on {at:day}, and have not used it since. If it is lost, remove it and add a new one. If "
    "you still have it, sign in with it once.",
    "You used a recovery code on {at:day}, and have not used them since. Remove the ones that are lost, and add new "
    "ones. If you still have them, sign in once with each.",
)
_KEYS = ("{count} passkey or security key", "{count} passkeys or security keys")
_CODES = ("{count} recovery code", "{count} recovery codes")


@dataclass(frozen=True)
class SecurityCheck:
    """The person's ways to sign in, in words, and the best next step; None if there is none."""

    facts: list[str]
    step: Step | None


def check_security(account: Account) -> SecurityCheck:
    """Return the security check of the account."""
    factors = list(Authenticator.objects.filter(user=account).order_by("pk"))
    held, has_password = held_among(factors), account.has_usable_password()
    keys, codes = held.keys, held.codes_left
    facts = [
        *(["Password"] if has_password else []),
        *([fill_in(_KEYS, {"count": keys})] if keys else []),
        *(["Authenticator app"] if held.has_app else []),
        *([fill_in(_CODES, {"count": codes})] if codes else []),
    ]
    return SecurityCheck(facts, _lost(account, factors) or _next_step(held, has_password=has_password))


def _lost(account: Account, factors: Collection[Authenticator]) -> Step | None:
    """Return the step about factors that are probably lost: they were not used since a recovery code was."""
    if all(row.type == Type.RECOVERY_CODES for row in factors):
        return None
    used = SecurityEvent.objects.filter(account=account, kind="recovery_code_used").order_by("-pk").first()
    if used is None:
        return None
    others = [row for row in factors if row.type != Type.RECOVERY_CODES]
    unused = [row for row in others if max(row.created_at, row.last_used_at or row.created_at) < used.at]
    if not unused:
        return None
    names = [f"“{row.wrap().name}”" if row.type == Type.WEBAUTHN else "your authenticator app" for row in unused]
    known = {"names": names, "at": used.at, "count": len(unused)}
    page = "mfa_list_webauthn" if all(row.type == Type.WEBAUTHN for row in unused) else "mfa_index"
    return Step(fill_in(_LOST_TITLE, known), fill_in(_LOST, known), "Replace or remove", page)


def _next_step(held: Held, *, has_password: bool) -> Step | None:
    if not held.has_any:
        return _FIRST if has_password else _WITHOUT_PASSWORD
    if not held.codes_left:
        return _NO_CODES
    if held.codes_left <= FEW_CODES:
        return _FEW
    if held.keys == 1 and not held.has_app and not has_password:
        return _SPARE
    return None
