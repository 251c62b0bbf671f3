"""Security events about passkeys, security keys, authenticator apps and recovery codes."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.http import HttpRequest

from accounts.models import Account
from accounts.sessions.keys import signs_in_alone

Type = Authenticator.Type


def added_kind(factor: Authenticator) -> str:
    """Return the kind of the event for an added factor."""
    kinds = {Type.TOTP: "authenticator_on", Type.RECOVERY_CODES: "recovery_codes_made"}
    return kinds.get(Type(factor.type)) or f"{_key_kind(factor)}_added"


def removed_kind(factor: Authenticator) -> str:
    """Return the kind of the event for a removed factor."""
    kinds = {Type.TOTP: "authenticator_off", Type.RECOVERY_CODES: "recovery_codes_removed"}
    return kinds.get(Type(factor.type)) or f"{_key_kind(factor)}_removed"


def name_details(factor: Authenticator) -> dict[str, Any]:
    """Return the details that name a key in the event's sentence; empty for other factors."""
    return {"name": factor.wrap().name} if factor.type == Type.WEBAUTHN else {}


def added_details(request: HttpRequest, account: Account, factor: Authenticator, *, notify: bool) -> dict[str, Any]:
    """Return the details of the event for an added factor.

    They contain the factor's primary key and the mailbox that gets the notice. For recovery codes that were created
    together with another factor, they also contain that factor's primary key.
    """
    details = name_details(factor) | {"factor": factor.pk}
    if notify:
        details["mailbox"] = account.email
    if factor.type != Type.RECOVERY_CODES:
        request.added_factor = factor.pk  # type: ignore[attr-defined]  # for the codes that follow in this request
    elif not notify:
        details["came_with"] = getattr(request, "added_factor", None)
    return details


def removed_details(factor: Authenticator, *, ends_codes: bool) -> dict[str, Any]:
    """Return the details of the event for a removed factor; with `ends_codes`, recovery codes are removed with it."""
    return name_details(factor) | {"ends_codes": ends_codes}


def _key_kind(factor: Authenticator) -> str:
    return "passkey" if signs_in_alone(factor) else "key"
