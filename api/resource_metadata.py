"""Protected resource metadata of the developer API (RFC 9728)."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse

from api import errors
from core.http import responses
from core.http.cors import allow_any_origin, is_preflight, preflight_answer
from core.http.split_hosts import address_of
from core.serving.documents import document
from oidc.scopes import OFFLINE_ACCESS, SCOPES

MAX_AGE = 3600


@document("/.well-known/oauth-protected-resource")
def metadata(request: HttpRequest, rest: str | None = None) -> HttpResponse:
    """GET /.well-known/oauth-protected-resource: built from settings, without a database."""
    if not responses.is_about(settings.BASE_URL, rest or ""):
        raise Http404
    if is_preflight(request):
        return preflight_answer(("GET",))
    if request.method not in errors.METHODS:
        return errors.ErrorResponse(errors.wrong_method())
    document = {
        "resource": settings.BASE_URL,  # the `aud` of access tokens
        "authorization_servers": [settings.ISSUER],
        # The scopes to request for this API; `openid` is required in every authorization request.
        "scopes_supported": [name for name in SCOPES if name != OFFLINE_ACCESS],
        "bearer_methods_supported": ["header"],
        "resource_name": f"{settings.SERVICE_NAME} developer API",
        "resource_documentation": address_of(settings.API_DOCUMENTATION_PATH),
    }
    response = JsonResponse(document)
    allow_any_origin(response, errors.EXPOSED_HEADERS)
    response["Cache-Control"] = f"public, max-age={MAX_AGE}"
    return response
