"""Token, revocation and userinfo endpoints. Errors are JSON (RFC 6749 §5.2, RFC 6750 §3.1)."""

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider.utils import parse_bearer_token
from oauth2_provider.views import RevokeTokenView, TokenView, UserInfoView

from core.http.headers import allow_any_origin
from core.limits.counters import Throttled
from core.serving.buffers import reads_no_body
from core.serving.errors import refusals_of
from oidc.apis.registry import OPENID, comparable
from oidc.clients.lookup import is_possible_client_id
from oidc.errors import InvalidClient, TokenRefusal
from oidc.protocol import limits
from oidc.protocol.cors import EXPOSED
from oidc.protocol.server import refusal_of_library
from oidc.sign_in_log import counts
from oidc.sign_in_log.steps import Endpoint
from oidc.tokens.authentication import parse_basic_header
from oidc.tokens.signing_keys import NoSigningKey
from oidc.values.parameters import (
    Parameters,
    UnreadableParameters,
    printable_name,
    read_form,
    read_json_text,
    read_query,
)
from oidc.values.reasons import Facts, Reason, public_text

log = logging.getLogger(__name__)

RETRY_SECONDS = 5


def error_response(
    reason: Reason, facts: Facts | None = None, *, description: str = "", status: int | None = None
) -> HttpResponse:
    """Return an error response of the token endpoint (RFC 6749 §5.2). `facts` are the reason's parameters.

    `description` and `status` are for what the server in front of Django refuses.
    """
    body = {"error": reason.error, "error_description": description or public_text(reason, facts or {})}
    return add_response_headers(JsonResponse(body, status=status or reason.status))


def add_response_headers(response: HttpResponse) -> HttpResponse:
    """Add the common headers: `no-store`, and on a 401 `WWW-Authenticate: Basic`."""
    response["Cache-Control"] = "no-store"
    response["Pragma"] = "no-cache"
    if response.status_code == 401:
        response["WWW-Authenticate"] = 'Basic realm="clients", charset="UTF-8"'
    return response


def retry_later_response(reason: Reason, seconds: int) -> HttpResponse:
    """Return a `temporarily_unavailable` error with Retry-After."""
    response = error_response(reason)
    response["Retry-After"] = str(seconds)
    return response


@refusals_of("/connect/token", "/connect/userinfo", "/connect/revoke")
def refused_by_server(status: int, message: str) -> HttpResponse:
    """Return the error for a request that the server rejects before Django: overload (503), or an invalid body."""
    reason = Reason.UNAVAILABLE if status == 503 else Reason.MALFORMED
    response = error_response(reason, description=message, status=status)
    allow_any_origin(response, EXPOSED)
    return response


def answer_within_limits(
    request: HttpRequest, answer: Callable[[], HttpResponse], endpoint: Endpoint | None = None
) -> HttpResponse:
    """Return the endpoint's response and apply its limits. Faults yield the documented errors."""
    try:
        try:
            response = answer()
        except TokenRefusal as refusal:
            limits.count_failure(request, refusal)  # before it is logged, because anyone can name a client
            response = refuse(request, endpoint, refusal)
        else:
            if response.status_code in (400, 401, 403):
                limits.count_failure(request)
    except Throttled as error:
        return retry_later_response(Reason.TOO_MANY_REQUESTS, error.retry_after)
    except (DatabaseError, NoSigningKey):
        log.exception("An endpoint for apps could not respond.")
        return retry_later_response(Reason.UNAVAILABLE, RETRY_SECONDS)
    return response


def refuse(request: HttpRequest, endpoint: Endpoint | None, refusal: TokenRefusal) -> HttpResponse:
    """Return the response to a rejected request, and report the reason to the client's sign-in log.

    A request that was rejected before its client was looked up is logged for the client that it names. Unknown clients
    take the same path, so that the response time does not reveal them. Their entries are dropped later.
    """
    form = form_or_nothing(request)
    redirect_uri = form.get("redirect_uri") if endpoint == Endpoint.TOKEN else None
    was_looked_up = refusal.client_id or refusal.reason == Reason.CLIENT_FAILED
    claimed = "" if was_looked_up else claimed_client_id(request)
    counts.refused(refusal, endpoint, form.get("grant_type"), redirect_uri or "", claimed)
    return error_response(refusal.reason, refusal.parameters)


def form_or_nothing(request: HttpRequest) -> Parameters:
    """Return the parameters of a form body, and none if it can't be read."""
    try:
        return read_form(request)
    except UnreadableParameters:
        return Parameters()


def claimed_client_id(request: HttpRequest) -> str:
    """Return the client id that a request names, without a check: in HTTP Basic, or in the body or query; "" if none.

    Query and JSON are never read otherwise. Here, they tell the developer which mistake the app makes. A text without
    the prefix of client ids is ignored, because it may be a secret.
    """
    named: str | None = None
    if (header := request.META.get("HTTP_AUTHORIZATION")) is not None:
        with suppress(InvalidClient):
            named, _ = parse_basic_header(header)
    named = named or form_or_nothing(request).get("client_id") or read_json_text(request, "client_id")
    if not named:
        with suppress(UnreadableParameters):
            named = read_query(request).get("client_id")
    is_id = is_possible_client_id(named) and (named or "").startswith(settings.CLIENT_ID_PREFIX)
    return named if named and is_id else ""


class FormEndpoint:
    """Mixin for the token and revocation endpoints: strict form parsing, limits, and errors for faults."""

    http_method_names = ["post"]
    endpoint: Endpoint
    post: Callable[[HttpRequest], HttpResponse]

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        # Decorating the view once is cheaper: a decorator of `dispatch` would be applied for each request.
        return csrf_exempt(super().as_view(**initkwargs))  # type: ignore[misc]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "POST":
            response = error_response(Reason.POST_ONLY)
            response["Allow"] = "POST"
            return response
        return answer_within_limits(request, partial(self.answer_form, request), self.endpoint)

    def answer_form(self, request: HttpRequest) -> HttpResponse:
        """Check the form, and let the endpoint respond. Raises TokenRefusal."""
        if request.META.get("QUERY_STRING"):
            raise TokenRefusal(Reason.QUERY_SENT)
        try:
            form = read_form(request)
        except UnreadableParameters as error:
            raise TokenRefusal(error.reason, error.parameters) from error
        for name in sorted(form.repeated | form.malformed):
            raise TokenRefusal(Reason.PARAMETER_UNCLEAR, {"name": printable_name(name)})
        return add_response_headers(self.post(request))


class TokenEndpoint(FormEndpoint, TokenView):  # type: ignore[misc]
    """POST /connect/token (RFC 6749 §3.2)."""

    endpoint = Endpoint.TOKEN

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        form = read_form(request)
        if not form.get("grant_type"):
            raise TokenRefusal(Reason.GRANT_TYPE_MISSING)
        if len(set(map(comparable, form.resources))) > 1:
            raise TokenRefusal(Reason.SEVERAL_RESOURCES)
        if form.get("grant_type") == "authorization_code" and form.get("code") is None:
            raise TokenRefusal(Reason.CODE_MISSING)
        if form.get("grant_type") == "refresh_token" and form.get("refresh_token") is None:
            raise TokenRefusal(Reason.REFRESH_TOKEN_MISSING)
        # The library's own `post` reads the new token back from the database, for a signal without receivers.
        _, _, body, status = self.create_token_response(request)
        # Bytes are faster: for text, Django looks up a charset.
        return HttpResponse(body.encode(), status=status, content_type="application/json")


class RevokeEndpoint(FormEndpoint, RevokeTokenView):  # type: ignore[misc]
    """POST /connect/revoke (RFC 7009). Success returns an empty JSON object, because browser libraries parse it."""

    endpoint = Endpoint.REVOKE

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not read_form(request).get("token"):
            raise TokenRefusal(Reason.TOKEN_MISSING)
        _, _, body, status = self.create_revocation_response(request)
        if status >= 400:
            raise refusal_of_library(body)
        return HttpResponse(body or "{}", status=status, content_type="application/json")


@reads_no_body("/connect/userinfo")
class UserInfoEndpoint(UserInfoView):  # type: ignore[misc]
    """GET and POST /connect/userinfo (OpenID Connect Core 5.3). The token is accepted only in the header."""

    http_method_names = ["get", "head", "post"]

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        return csrf_exempt(super().as_view(**initkwargs))

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method not in ("GET", "HEAD", "POST"):
            response = error_response(Reason.GET_OR_POST_ONLY)
            response["Allow"] = "GET, HEAD, POST"
            return response
        if parse_bearer_token(request.META.get("HTTP_AUTHORIZATION")) is None:
            # RFC 6750 §3.1: no error code for a request without credentials.
            answer = partial(self._challenge, JsonResponse({}, status=401))
        else:
            answer = partial(self._create_userinfo_response, request)
        return answer_within_limits(request, answer)

    def _create_userinfo_response(self, request: HttpRequest) -> HttpResponse:
        try:
            _, _, body, status = self.create_userinfo_response(request)
            if status != 200:
                raise refusal_of_library(body)
        except TokenRefusal as refusal:
            if refusal.client_id:
                counts.refused(refusal, Endpoint.USERINFO, None, "")
            error = f', error="{refusal.error}", error_description="{refusal.description}"'
            return self._challenge(error_response(refusal.reason, refusal.parameters), error)
        response = HttpResponse(body.encode(), content_type="application/json")
        response["Cache-Control"] = "no-store"
        return response

    def _challenge(self, response: HttpResponse, error: str = "") -> HttpResponse:
        add_response_headers(response)["WWW-Authenticate"] = f'Bearer realm="userinfo"{error}, scope="{OPENID}"'
        return response
