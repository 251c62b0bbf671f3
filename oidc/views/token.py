"""The endpoints that apps call: token, revocation, userinfo. Errors are JSON (RFC 6749 §5.2, RFC 6750 §3.1)."""

import json
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider.utils import parse_bearer_token
from oauth2_provider.views import RevokeTokenView, TokenView, UserInfoView

from devportal.lib.limits import Limited
from oidc import limits, reporting
from oidc.authorize import printable
from oidc.keys import NoSigningKey
from oidc.parameters import Unreadable, read_form

log = logging.getLogger(__name__)

RETRY_SECONDS = 5


def oauth_error(code: str, description: str = "", status: int = 400) -> HttpResponse:
    """Return an error of the token endpoint's shape."""
    body = {"error": code} | ({"error_description": description} if description else {})
    return finish(JsonResponse(body, status=status))


def finish(response: HttpResponse) -> HttpResponse:
    """Add what every answer here carries: nothing is stored, and a 401 says how clients authenticate."""
    response["Cache-Control"] = "no-store"
    response["Pragma"] = "no-cache"
    if response.status_code == 401:
        response["WWW-Authenticate"] = 'Basic realm="clients", charset="UTF-8"'
    return response


def later(description: str, status: int, seconds: int) -> HttpResponse:
    """Return an error that passes by itself."""
    response = oauth_error("temporarily_unavailable", description, status)
    response["Retry-After"] = str(seconds)
    return response


def answered(request: HttpRequest, answer: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the endpoint's answer within its limits, and the documented one under faults."""
    limits.begin()
    try:
        response = answer()
        if response.status_code in (400, 401, 403):
            limits.count_failure(request)
    except Limited as error:
        return later("Too many requests.", 429, error.retry_after)
    except (DatabaseError, NoSigningKey):
        log.exception("An endpoint for apps could not answer.")
        return later("Try again shortly.", 503, RETRY_SECONDS)
    return response


def tell_of_refusal(endpoint: str, body: str, status: int, redirect_uri: str = "") -> None:
    """Have the client's sign-in log say why a request was refused.

    A client that is not known takes the same way, so that nobody can tell by the time; its entry is dropped later.
    """
    if status < 400:
        return
    client_id = reporting.reported_client()
    refused = json.loads(body)
    error = refused.get("error", "")
    # What oauthlib itself refuses with this code is a verifier that does not fit.
    default = "The code_verifier does not fit the code_challenge." if error == "invalid_grant" else ""
    reason = reporting.reason_or(default or refused.get("error_description", ""))
    reporting.tell_of(client_id, "refused", endpoint, error=error, reason=reason, redirect_uri=redirect_uri)


class FormEndpoint:
    """What token and revocation endpoint share: a strict form body, and the documented answers under faults."""

    http_method_names = ["post"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "POST":
            response = oauth_error("invalid_request", "Use POST.", 405)
            response["Allow"] = "POST"
            return response
        answer = partial(super().dispatch, request, *args, **kwargs)  # type: ignore[misc]
        return answered(request, lambda: self.refuse_malformed(request) or finish(answer()))

    def refuse_malformed(self, request: HttpRequest) -> HttpResponse | None:
        if request.META.get("QUERY_STRING"):
            return oauth_error("invalid_request", "Parameters belong in the body.")
        try:
            form = read_form(request)
        except Unreadable as error:
            return oauth_error("invalid_request", str(error))
        for name in sorted(form.repeated | form.malformed):
            return oauth_error("invalid_request", f"The parameter {printable(name)} is repeated or unreadable.")
        return None


@method_decorator(csrf_exempt, name="dispatch")
class TokenEndpoint(FormEndpoint, TokenView):  # type: ignore[misc]
    """POST /connect/token (RFC 6749 §3.2)."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not read_form(request).get("grant_type"):
            return oauth_error("invalid_request", "grant_type is missing.")
        reporting.begin()
        # The library's own step reads the new token back from the database, for a signal that nobody hears.
        _, _, body, status = self.create_token_response(request)
        tell_of_refusal(reporting.TOKEN, body, status, read_form(request).get("redirect_uri") or "")
        return HttpResponse(body, status=status, content_type="application/json")


@method_decorator(csrf_exempt, name="dispatch")
class RevokeEndpoint(FormEndpoint, RevokeTokenView):  # type: ignore[misc]
    """POST /connect/revoke (RFC 7009). Success is an empty JSON object: browser libraries parse it."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        reporting.begin()
        _, _, body, status = self.create_revocation_response(request)
        tell_of_refusal(reporting.REVOKE, body, status)
        return HttpResponse(body or "{}", status=status, content_type="application/json")


@method_decorator(csrf_exempt, name="dispatch")
class UserInfoEndpoint(UserInfoView):  # type: ignore[misc]
    """GET and POST /connect/userinfo (OpenID Connect Core 5.3). The token comes in the header, nowhere else."""

    http_method_names = ["get", "head", "post"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method not in ("GET", "HEAD", "POST"):
            response = oauth_error("invalid_request", "Use GET or POST.", 405)
            response["Allow"] = "GET, HEAD, POST"
            return response
        if parse_bearer_token(request.META.get("HTTP_AUTHORIZATION")) is None:
            # RFC 6750 §3.1: neither an error code nor other news of one for a request without credentials.
            answer = partial(self._challenge, JsonResponse({}, status=401))
        else:
            answer = partial(super().dispatch, request, *args, **kwargs)
        return answered(request, answer)

    def _create_userinfo_response(self, request: HttpRequest) -> HttpResponse:
        _, _, body, status = self.create_userinfo_response(request)
        if status == 200:
            response = HttpResponse(body, content_type="application/json")
            response["Cache-Control"] = "no-store"
            return response
        code = json.loads(body).get("error", "invalid_token")
        return self._challenge(oauth_error(code, status=status), f', error="{code}"')

    def _challenge(self, response: HttpResponse, error: str = "") -> HttpResponse:
        finish(response)["WWW-Authenticate"] = f'Bearer realm="userinfo"{error}'  # RFC 6750 §3: never without any
        return response
