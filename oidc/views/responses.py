"""Authorization responses, by redirect or form_post, with `state` and `iss` (RFC 9207)."""

from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from oauth2_provider.http import OAuth2ResponseRedirect

from oidc.authorization.requests import AuthorizationRequest
from oidc.clients.redirect_uris import origin_of
from oidc.errors import AuthorizationError


def see_other(url: str) -> HttpResponse:
    """Return a 303 to the same endpoint as a GET, so that a cross-site POST comes back with cookies."""
    response = HttpResponseRedirect(url)
    response.status_code = 303
    return response


def authorization_error_response(
    request: HttpRequest, auth_request: AuthorizationRequest, error: AuthorizationError
) -> HttpResponse:
    """Return the authorization error response (RFC 6749 §4.1.2.1). The redirect URI was validated before."""
    return authorization_response(request, auth_request, {"error": error.error, "error_description": error.description})


def authorization_response(
    request: HttpRequest, auth_request: AuthorizationRequest, parameters: dict[str, str]
) -> HttpResponse:
    """Send `parameters` to the app's redirect URL, in the response mode that it asked for."""
    fields = parameters | ({"state": auth_request.state} if auth_request.state else {}) | {"iss": settings.ISSUER}
    if auth_request.response_mode == "form_post":
        request.form_action_origins = [origin_of(auth_request.redirect_uri)]  # type: ignore[attr-defined]
        context = {"action": auth_request.redirect_uri, "fields": list(fields.items())}
        response = render(request, "oidc/form_post.html", context)
    else:
        separator = "&" if "?" in auth_request.redirect_uri else "?"
        url = f"{auth_request.redirect_uri}{separator}{urlencode(fields)}"
        response = OAuth2ResponseRedirect(url, auth_request.client.get_allowed_schemes())
        if request.method == "POST":
            response.status_code = 303  # a GET follows, whatever the browser (RFC 9700 §4.12)
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "no-referrer"
    return response
