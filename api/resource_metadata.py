"""The document about an API for OAuth clients (RFC 9728): of the one at `/v1`, and of the company's own APIs."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from core.http import responses
from core.http.split_hosts import address_of
from oidc.apis.registry import OFFLINE_ACCESS, OPENID, ApiSnapshot, Registry
from oidc.apis.scopes import scopes_of_account_api

NAME = "oauth-protected-resource"
MAX_AGE = 3600


def metadata_url(api: ApiSnapshot) -> str:
    """Return the URL of an API's document, which follows from its identifier (RFC 9728 §3.1)."""
    return responses.address(api.identifier, NAME).replace('"', "%22")


def metadata_of(api: ApiSnapshot) -> dict[str, Any]:
    """Return the document about one of the company's own APIs."""
    document = _document(api.identifier, [OPENID, *(scope.name for scope in api.scopes)], api.name)
    return document | {
        "resource_documentation": api.documentation_url or address_of(f"{settings.APIS_DOCUMENTATION_PATH}{api.slug}")
    }


def metadata_of_account_api() -> dict[str, Any]:
    """Return the document about the API at `/v1`. It depends only on the settings."""
    scopes = [scope.name for scope in scopes_of_account_api() if scope.name != OFFLINE_ACCESS]
    document = _document(settings.BASE_URL, scopes, f"{settings.SERVICE_NAME} developer API")
    return document | {"resource_documentation": address_of(settings.API_DOCUMENTATION_PATH)}


def _document(resource: str, scopes: list[str], name: str) -> dict[str, Any]:
    return {
        "resource": resource,  # the `aud` of access tokens
        "authorization_servers": [settings.ISSUER],
        # The scopes to request for this API; `openid` is required in every authorization request.
        "scopes_supported": scopes,
        "bearer_methods_supported": ["header"],
        "resource_name": name,
    }


def find_api(registry: Registry, host: str, rest: str) -> ApiSnapshot | None:
    """Return the API on one of the service's own hosts whose document this is, None if there is none or it is off.

    `host` is the name in the request, `rest` the part of the path after the name of the document, without a
    slash at its end.
    """
    own = {urlsplit(url).netloc for url in (settings.AUTH_URL, settings.BASE_URL)}
    for api in registry.apis.values():
        parts = urlsplit(api.identifier)
        is_same_path = parts.path.removesuffix("/") == rest
        is_asked = parts.netloc in own and parts.hostname == host and is_same_path and not parts.query
        if is_asked and api.enabled and not api.is_own:
            return api
    return None
