"""Discovery document and JWKS, which need no database."""

from django.conf import settings
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import conditional_page, require_safe

from core.http import responses
from core.serving.documents import document
from oidc.apis.registry import Registry, current_registry
from oidc.apis.scopes import CLAIM_SCOPES
from oidc.authorization.acr import ACR_VALUES
from oidc.authorization.requests import PROMPTS, RESPONSE_MODES
from oidc.tokens import signing_keys
from oidc.values.reasons import Reason
from oidc.views.token import RETRY_SECONDS, retry_later_response

DISCOVERY_MAX_AGE = 3600
# Shorter than the two hours for which a new key is published before it signs.
JWKS_MAX_AGE = 600
ID_TOKEN_CLAIMS = ("iss", "aud", "exp", "iat", "auth_time", "acr", "amr", "nonce", "at_hash", "sid")


def published_scopes() -> Registry | None:
    """Return the registry for the discovery document, None if it is not loaded yet and the database is unavailable."""
    try:
        return current_registry()
    except DatabaseError:
        return None


# Django's decorators add a strong ETag (a weak one if compressed), 304 responses and compression.
@document(
    "/.well-known/openid-configuration",
    "//.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server",
    made_of=published_scopes,
)
@gzip_page
@conditional_page
@require_safe
def configuration(request: HttpRequest, rest: str | None = None) -> HttpResponse:
    """GET /.well-known/openid-configuration and …/oauth-authorization-server (Discovery 3, RFC 8414)."""
    if not responses.is_about(settings.AUTH_URL, rest or ""):
        raise Http404
    registry = published_scopes()
    if registry is None:
        return retry_later_response(Reason.UNAVAILABLE, RETRY_SECONDS)
    base = settings.AUTH_URL
    document = {
        "issuer": settings.ISSUER,
        "authorization_endpoint": f"{base}/connect/authorize",
        "token_endpoint": f"{base}/connect/token",
        "userinfo_endpoint": f"{base}/connect/userinfo",
        "revocation_endpoint": f"{base}/connect/revoke",
        "introspection_endpoint": f"{base}/connect/introspect",
        "end_session_endpoint": f"{base}/connect/logout",
        "jwks_uri": f"{base}/.well-known/jwks",
        "backchannel_logout_supported": True,
        "backchannel_logout_session_supported": True,
        "scopes_supported": registry.enabled_scopes(),
        "claims_supported": ["sub", *CLAIM_SCOPES, *ID_TOKEN_CLAIMS],
        "response_types_supported": ["code"],
        "response_modes_supported": list(RESPONSE_MODES),
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "subject_types_supported": ["pairwise"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        "revocation_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        "introspection_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "code_challenge_methods_supported": ["S256"],
        "prompt_values_supported": list(PROMPTS),
        "acr_values_supported": list(ACR_VALUES),
        "authorization_response_iss_parameter_supported": True,
        # False, because `claims` can only request `acr`, and no other claim.
        "claims_parameter_supported": False,
        "request_parameter_supported": False,
        "request_uri_parameter_supported": False,
    }
    response = JsonResponse(document)
    response["Cache-Control"] = f"public, max-age={DISCOVERY_MAX_AGE}"
    return response


def published_keys() -> signing_keys.KeyRing | None:
    """Return the key ring for the JWKS, None if it is not loaded yet and the database is unavailable."""
    try:
        return signing_keys.current_keyring()
    except (DatabaseError, signing_keys.NoSigningKey):
        return None


@document("/.well-known/jwks", made_of=published_keys)
@gzip_page
@conditional_page
@require_safe
def jwks(request: HttpRequest) -> HttpResponse:
    """GET /.well-known/jwks: all published keys, next, active and retired (RFC 7517 §5)."""
    ring = published_keys()
    if ring is None:
        return retry_later_response(Reason.UNAVAILABLE, RETRY_SECONDS)
    response = JsonResponse({"keys": [key.public_jwk for key in ring.published.values()]})
    response["Cache-Control"] = f"public, max-age={JWKS_MAX_AGE}"
    return response
