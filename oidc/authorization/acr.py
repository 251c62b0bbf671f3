"""Requested authentication levels: `acr_values`, and `acr` in the `claims` parameter (OpenID Connect Core 5.5).

docs/sign-in.md#authentication-levels describes the values.
"""

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from accounts.sessions.authentication import Authentication, Level, level_of
from oidc.errors import AuthorizationError
from oidc.models import Client
from oidc.models.clients import MULTI_FACTOR, PHISHING_RESISTANT
from oidc.values.parameters import Parameters
from oidc.values.reasons import Facts, Reason

MAX_LENGTH = 2048  # characters of `claims`
MAX_DEPTH = 12  # nested objects and lists; the examples of OpenID's specifications have up to nine


@dataclass(frozen=True)
class AcrClaim:
    """A request for the claim `acr` (Core 5.5.1): its values, best first. Without values, any level will do."""

    essential: bool = False
    values: tuple[str, ...] = ()


class _NotRead(ValueError):
    """The text is not JSON, or parsers may read it differently."""


def read_acr_claim(text: str | None) -> AcrClaim | None:
    """Return the request for `acr` in the ID token that `claims` contains, None if there is none.

    Raises AuthorizationError.
    """
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
    raise _NotRead(name)  # NaN and Infinity: RFC 8259 §6 forbids them, but Python's parser accepts them


def _is_deeper(value: Any, depth: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(_is_deeper(each, depth - 1) for each in inside)


# The weakest first. `phrh` of OpenID's EAP ACR values is missing: only an attestation can show that a passkey is kept
# in hardware, and the service does not request attestations.
ACR_VALUES = {MULTI_FACTOR: Level.TWO_FACTORS, PHISHING_RESISTANT: Level.PHISHING_RESISTANT}


@dataclass(frozen=True)
class AcrRequest:
    """The authentication levels that a request and its client ask for.

    `required` has to be met. One of `preferred`, best first, is met if the person can. `values` are the requested
    values that the service knows, best first. If `is_returned`, the tokens contain `acr` and `amr`.
    """

    required: Level = Level.ONE_FACTOR
    preferred: tuple[Level, ...] = ()
    values: tuple[str, ...] = ()
    is_returned: bool = False


def least_level(client: Client) -> Level:
    """Return the minimum level of every sign-in to this client."""
    return ACR_VALUES.get(client.least_acr, Level.ONE_FACTOR)


def read_acr_request(parameters: Parameters, client: Client) -> AcrRequest:
    """Return the levels that a request asks for, with the client's minimum level. Raises AuthorizationError.

    Unknown values are ignored, unless the claim is essential and all its values are unknown. If `claims` contains
    values, `acr_values` is ignored, because the standard does not say what both together mean.
    """
    claim = read_acr_claim(parameters.get("claims"))
    least = least_level(client)
    asked = claim.values if claim and claim.values else tuple((parameters.get("acr_values") or "").split())
    values = tuple(value for value in asked if value in ACR_VALUES)
    levels = tuple(ACR_VALUES[value] for value in values)
    if claim and claim.essential and claim.values:
        if not values:
            raise AuthorizationError(Reason.ACR_NEVER_GIVEN)
        return AcrRequest(max(least, min(levels)), values=values, is_returned=True)
    return AcrRequest(least, levels, values, is_returned=bool(values or least or _accepts_any_level(claim)))


def _accepts_any_level(claim: AcrClaim | None) -> bool:
    return claim is not None and not claim.values


def returned_claims(asked: AcrRequest, counted: Authentication) -> dict[str, Any] | None:
    """Return the `acr` and `amr` claims of the tokens, None if they contain neither.

    `counted` is the part of the sign-in that counts for this request. `acr` is the first requested value that was met
    (Core 5.5.1.1), otherwise the strongest value that was met, if any.
    """
    if not asked.is_returned:
        return None
    level = level_of(counted.steps)
    met = [value for value in (*asked.values, *reversed(ACR_VALUES)) if ACR_VALUES[value] <= level]
    return ({"acr": met[0]} if met else {}) | {"amr": list(counted.methods)}


def log_parameters(asked: AcrRequest, returned: dict[str, Any]) -> Facts:
    """Return the requested values and the returned claims, for the sign-in log."""
    return {"asked": list(asked.values), "acr": str(returned.get("acr", "")), "amr": list(returned["amr"])}
