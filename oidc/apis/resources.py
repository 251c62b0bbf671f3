"""Resource indicators (RFC 8707): which API a token is for, and which of its scopes the token has.

docs/sign-in.md#resource-indicators has the rules.
"""

from collections.abc import Iterable, Sequence

from oidc.apis.registry import ApiSnapshot, current_registry
from oidc.errors import Refusal
from oidc.values.parameters import printable_name
from oidc.values.reasons import Reason


class InvalidTarget(Refusal):
    """The resources of a request don't fit its scopes, or are not those of an API."""


def check_resources(resources: Sequence[str], scopes: Iterable[str]) -> None:
    """Check the resources of an authorization request. Raises InvalidTarget.

    Each one is the identifier of an API that is turned on, and the request asks for a scope of it. If there are any,
    the request asks for no scope of another API. The scopes are known, and may belong to any API.
    """
    registry = current_registry()
    asked = [registry.scopes[name] for name in scopes]
    if off := next((scope for scope in asked if not scope.enabled), None):
        raise InvalidTarget(Reason.SCOPE_API_OFF, {"name": off.name})
    apis = [_find_api(resource) for resource in resources]
    for api in apis:
        if not registry.scopes_of(api, (scope.name for scope in asked)):
            raise InvalidTarget(Reason.RESOURCE_WITHOUT_SCOPE, {"name": printable_name(api.identifier)})
    named = {"", *(api.slug for api in apis)}
    if apis and (other := next((scope for scope in asked if scope.api not in named), None)):
        raise InvalidTarget(Reason.SCOPE_OF_OTHER_API, {"name": other.name})


def choose_target(
    resource: str | None, scopes: list[str], granted: Iterable[str], implying: str, *, sent_before: bool = False
) -> tuple[ApiSnapshot, list[str]]:
    """Return the API that a new token is for, and the token's scopes. Raises InvalidTarget.

    `scopes` are the ones to issue, `granted` all that the authorization covers now. Without a `resource`, the API that
    `implying` (space-separated scopes) implies is chosen. If no scope of it is left, because its approval or consent
    was withdrawn, the token is for the API at `/v1`. With `sent_before`, the app has sent `resource` in an earlier
    request of the authorization: it may pass the token on to that API, so it then gets none for `/v1` instead.
    """
    registry = current_registry()
    api = _find_api(resource) if resource is not None else registry.api_implied_by(implying)
    if not api.enabled:
        raise InvalidTarget(Reason.RESOURCE_OFF, {"name": printable_name(api.name)})
    if chosen := registry.scopes_of(api, scopes):
        return api, chosen
    if resource is None and not sent_before:
        return registry.account, registry.scopes_of(registry.account, scopes)
    if not registry.scopes_of(api, granted):
        raise InvalidTarget(Reason.RESOURCE_NOT_GRANTED, {"name": printable_name(api.identifier)})
    others = (name for name in scopes if registry.scopes[name].api)
    raise InvalidTarget(Reason.SCOPE_OF_OTHER_API, {"name": next(others, scopes[0])})


def _find_api(resource: str) -> ApiSnapshot:
    """Return the API with this identifier. Raises InvalidTarget if there is none, or it is turned off."""
    api = current_registry().api_with_identifier(resource)
    if api is None:
        raise InvalidTarget(Reason.RESOURCE_UNKNOWN, {"name": printable_name(resource)})
    if not api.enabled:
        raise InvalidTarget(Reason.RESOURCE_OFF, {"name": printable_name(api.name)})
    return api
