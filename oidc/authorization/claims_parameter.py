"""The `claims` parameter (OpenID Connect Core 5.5), of which one part is read: the request for `acr` in the ID token.

It has to be well-formed all the same. What is in it beside that changes nothing.
"""

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from oidc.errors import AuthorizationError

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
        _refuse(f"claims is longer than {MAX_LENGTH:,} characters.")
    try:
        claims = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        _refuse("claims is not JSON, or names a member twice.")
    if not isinstance(claims, dict):
        _refuse("claims is not a JSON object.")
    if _is_deeper(claims, MAX_DEPTH):
        _refuse("claims is nested too deeply.")
    of_id_token = claims.get("id_token")
    if of_id_token is not None and not isinstance(of_id_token, dict):
        _refuse("id_token in claims is not a JSON object.")
    if not of_id_token or "acr" not in of_id_token:
        return None
    return _acr_claim(of_id_token["acr"])


def _acr_claim(asked: Any) -> AcrClaim:
    if asked is None:  # Core 5.5.1: requested in the default manner
        return AcrClaim()
    if not isinstance(asked, dict):
        _refuse("acr in claims is neither null nor a JSON object.")
    essential = asked.get("essential", False)
    if not isinstance(essential, bool):
        _refuse("essential of acr is neither true nor false.")
    if "value" in asked and "values" in asked:
        _refuse("acr in claims has both value and values.")
    values = [asked["value"]] if "value" in asked else asked.get("values", [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        _refuse("value of acr has to be a text, values a list of texts.")
    if "values" in asked and not values:
        _refuse("values of acr is empty.")
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


def _refuse(text: str) -> NoReturn:
    raise AuthorizationError("invalid_request", text)
