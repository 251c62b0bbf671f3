"""Levels of authentication that an app asks for: `acr_values`, and the `claims` parameter (OpenID Connect Core 5.5)."""

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from accounts.authentication import Authentication, Level, level_of
from oidc.errors import AuthorizationError
from oidc.models import Client
from oidc.models.clients import MULTI_FACTOR, PHISHING_RESISTANT
from oidc.parameters import Parameters
from oidc.reasons import Facts, Reason

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


# docs/sign-in.md#authentication-levels names the values and what comes of them.

# From the weakest. `phrh` of OpenID's EAP ACR values is not among them: whether a key is kept in hardware could only be
# known from its attestation, which is not asked for.
ACR_VALUES = {MULTI_FACTOR: Level.TWO_FACTORS, PHISHING_RESISTANT: Level.PHISHING_RESISTANT}


@dataclass(frozen=True)
class AcrRequest:
    """What a request and its client ask for.

    `required` has to be met; one of `preferred`, the best first, is met if the person can. `values` are the requested
    values that are known, the best first. `is_told`: tokens say `acr` and `amr`; without it they stay as they are.
    """

    required: Level = Level.ONE_FACTOR
    preferred: tuple[Level, ...] = ()
    values: tuple[str, ...] = ()
    is_told: bool = False


def least_level(client: Client) -> Level:
    """Return the level that every sign-in to this client has to meet."""
    return ACR_VALUES.get(client.least_acr, Level.ONE_FACTOR)


def read_acr_request(parameters: Parameters, client: Client) -> AcrRequest:
    """Return what a request asks for, with the client's least level. Raises AuthorizationError.

    Values that nobody knows change nothing, unless one of them would have to be met. Where `claims` names values,
    `acr_values` is not looked at: what both together mean, the standard leaves open.
    """
    claim = read_acr_claim(parameters.get("claims"))
    least = least_level(client)
    asked = claim.values if claim and claim.values else tuple((parameters.get("acr_values") or "").split())
    values = tuple(value for value in asked if value in ACR_VALUES)
    levels = tuple(ACR_VALUES[value] for value in values)
    if claim and claim.essential and claim.values:
        if not values:
            raise AuthorizationError(Reason.ACR_NEVER_GIVEN)
        return AcrRequest(max(least, min(levels)), values=values, is_told=True)
    return AcrRequest(least, levels, values, is_told=bool(values or least or _asks_for_whatever_it_is(claim)))


def _asks_for_whatever_it_is(claim: AcrClaim | None) -> bool:
    return claim is not None and not claim.values


def told_claims(asked: AcrRequest, counted: Authentication) -> dict[str, Any] | None:
    """Return the `acr` and `amr` that the tokens say, of what counts for this request; None if they say nothing of it.

    `acr` is the first of the requested values that was met (Core 5.5.1.1), else the strongest that was, if any.
    """
    if not asked.is_told:
        return None
    level = level_of(counted.steps)
    met = [value for value in (*asked.values, *reversed(ACR_VALUES)) if ACR_VALUES[value] <= level]
    return ({"acr": met[0]} if met else {}) | {"amr": list(counted.methods)}


def log_parameters(asked: AcrRequest, told: dict[str, Any]) -> Facts:
    """Return what was asked for and what the tokens say, for the sign-in log."""
    return {"asked": list(asked.values), "acr": str(told.get("acr", "")), "amr": list(told["amr"])}
