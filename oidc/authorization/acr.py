"""Levels of authentication that an app asks for: `acr_values`, and the claim `acr` (OpenID Connect Core 5.5.1.1).

docs/sign-in.md#authentication-levels names the values and what comes of them.
"""

from dataclasses import dataclass
from typing import Any

from accounts.authentication import Authentication
from accounts.levels import Level, level_of
from oidc.authorization.claims_parameter import AcrClaim, read_acr_claim
from oidc.errors import AuthorizationError
from oidc.models import Client
from oidc.models.clients import MULTI_FACTOR, PHISHING_RESISTANT
from oidc.parameters import Parameters
from oidc.reasons import Facts, Reason

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
