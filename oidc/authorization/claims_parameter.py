"""The `claims` parameter (OpenID Connect Core 5.5), of which one part is read: the request for `acr` in the ID token.

It has to be well-formed all the same. What is in it beside that changes nothing.
"""

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from oidc.errors import AuthorizationError
from oidc.reasons import Reason

MAX_LENGTH = 2048  # characters of `claims`
MAX_DEPTH = 12  # objects and lists in one another; what OpenID's specifications show has up to nine


@dataclass(frozen=True)
class AcrClaim:
    """A request for the claim `acr` (Core 5.5.1): its values, the best first; none of them: whichever it is."""

    essential: bool = False
    values: tuple[str, ...] = ()


class _NotRead(ValueError):
    """Something in the JSON that would be read in two ways, or is none."""


def read_acr_claim(text: str | None) -> AcrClaim | None:
    """Return how `claims` asks for `acr` in the ID token, None if it does not. Raises AuthorizationError."""
    if text is None:
        return None
    if len(text) > MAX_LENGTH:
        raise AuthorizationError(Reason.CLAIMS_TOO_LONG, {"longest": MAX_LENGTH})
    try:
        claims = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise AuthorizationError(Reason.CLAIMS_UNREADABLE) from None
    if not isinstance(claims, dict):
        raise AuthorizationError(Reason.CLAIMS_NOT_AN_OBJECT)
    if _is_deeper(claims, MAX_DEPTH):
        raise AuthorizationError(Reason.CLAIMS_TOO_DEEP)
    of_id_token = claims.get("id_token")
    if of_id_token is not None and not isinstance(of_id_token, dict):
        raise AuthorizationError(Reason.CLAIMS_ID_TOKEN_NOT_AN_OBJECT)
    if not of_id_token or "acr" not in of_id_token:
        return None
    return _acr_claim(of_id_token["acr"])


def _acr_claim(asked: Any) -> AcrClaim:
    if asked is None:  # Core 5.5.1: requested in the default manner
        return AcrClaim()
    if not isinstance(asked, dict):
        raise AuthorizationError(Reason.ACR_CLAIM_MALFORMED)
    essential = asked.get("essential", False)
    if not isinstance(essential, bool):
        raise AuthorizationError(Reason.ACR_ESSENTIAL_MALFORMED)
    if "value" in asked and "values" in asked:
        raise AuthorizationError(Reason.ACR_VALUE_AND_VALUES)
    values = [asked["value"]] if "value" in asked else asked.get("values", [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise AuthorizationError(Reason.ACR_VALUES_MALFORMED)
    if "values" in asked and not values:
        raise AuthorizationError(Reason.ACR_VALUES_EMPTY)
    return AcrClaim(essential, tuple(values))


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _NotRead
    return members


def _no_constant(name: str) -> NoReturn:
    raise _NotRead(name)  # NaN and Infinity: RFC 8259 §6 has none, Python's reader would take them


def _is_deeper(value: Any, depth: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(_is_deeper(each, depth - 1) for each in inside)
