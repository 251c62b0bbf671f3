"""POST /connect/introspect: errors are those of the token endpoint (RFC 7662 §2.3, RFC 6749 §5.2)."""

import logging
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from api.introspection import PATH, introspect
from core.http.client_ip import client_ip
from core.http.responses import json_response
from core.limits.counters import Throttled
from core.serving.errors import refusals_of
from oidc.errors import InvalidClient, TokenRefusal
from oidc.protocol import limits
from oidc.tokens.authentication import choose_method
from oidc.tokens.signing_keys import NoSigningKey
from oidc.values.parameters import UnreadableParameters, printable_name, read_form
from oidc.values.reasons import Reason
from oidc.views.token import RETRY_SECONDS, add_response_headers, error_response, retry_later_response

# Replaces a token that does not decode to text, so that it can't be one of this service.
UNREADABLE = "-"

log = logging.getLogger(__name__)


@refusals_of(PATH)
def refused_by_server(status: int, message: str) -> HttpResponse:
    """Return the error for a request that the server rejects before Django: overload (503), or an invalid body."""
    reason = Reason.UNAVAILABLE if status == 503 else Reason.MALFORMED
    return error_response(reason, description=message, status=status)


@csrf_exempt
def introspection(request: HttpRequest) -> HttpResponse:
    """POST /connect/introspect."""
    if request.method != "POST":
        response = error_response(Reason.POST_ONLY)
        response["Allow"] = "POST"
        return response
    try:
        try:
            return add_response_headers(json_response(_introspect(request)))
        except TokenRefusal as refusal:
            limits.count_failure(request)
            return error_response(refusal.reason, refusal.parameters)
    except Throttled as error:
        return retry_later_response(Reason.TOO_MANY_REQUESTS, error.retry_after)
    except (DatabaseError, NoSigningKey):
        log.exception("The introspection endpoint could not respond.")
        return retry_later_response(Reason.UNAVAILABLE, RETRY_SECONDS)


def _introspect(request: HttpRequest) -> dict[str, Any]:
    """Parse the request and return the response's members. Raises TokenRefusal and Throttled."""
    if request.META.get("QUERY_STRING"):
        raise TokenRefusal(Reason.QUERY_SENT)
    try:
        form = read_form(request)
    except UnreadableParameters as error:
        raise TokenRefusal(error.reason, error.parameters) from error
    for name in sorted(form.repeated | (form.malformed - {"token"})):
        raise TokenRefusal(Reason.PARAMETER_UNCLEAR, {"name": printable_name(name)})
    header = request.META.get("HTTP_AUTHORIZATION")
    public_id, secret = choose_method(header, form.get("client_id"), form.get("client_secret"))
    if not public_id or not secret:
        raise InvalidClient(Reason.CLIENT_FAILED if public_id else Reason.CLIENT_UNNAMED)
    token = form.get("token")
    if token is None and "token" not in form.malformed:
        raise TokenRefusal(Reason.TOKEN_MISSING)
    return introspect(token or UNREADABLE, public_id, secret, client_ip(request))
