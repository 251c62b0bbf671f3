"""/connect/forward-auth/<slug>, as nginx, Caddy, Traefik and Envoy call it: each method is a question."""

import re
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider.utils import parse_bearer_token

from api.errors import ApiError, exception_handler
from api.forward_auth import ForwardedCall, Permission, authorize_call
from api.request_targets import methods_in
from api.resource_metadata import metadata_url
from core.http import client_ip
from core.http.responses import FixedHeaders
from core.serving.buffers import reads_no_body
from oidc.apis.registry import ApiSnapshot, current_registry
from oidc.values.parameters import UnreadableParameters, read_query

_NO_STORE = FixedHeaders({"Cache-Control": "no-store"})
# The headers in which proxies send the method and the target of the call.
_METHODS = ("HTTP_X_FORWARDED_METHOD", "HTTP_X_ORIGINAL_METHOD")
_TARGETS = ("HTTP_X_FORWARDED_URI", "HTTP_X_ORIGINAL_URI")
_URL = "HTTP_X_ORIGINAL_URL"  # the whole URL, from ingress-nginx. Some frameworks read the path from it.
# Headers of the caller with which some frameworks replace the method, for example Rails, Laravel and Google's.
_OVERRIDES = ("HTTP_X_HTTP_METHOD_OVERRIDE", "HTTP_X_HTTP_METHOD", "HTTP_X_METHOD_OVERRIDE")
# Headers from which some frameworks and proxies read the path, for example Zend Framework and Envoy.
_REWRITES = ("HTTP_X_REWRITE_URL", "HTTP_X_ENVOY_ORIGINAL_PATH")
_HOSTS = ("HTTP_HOST", "HTTP_X_FORWARDED_HOST", "HTTP_X_ORIGINAL_HOST", "HTTP_FORWARDED")
_CALLERS = ("HTTP_AUTHORIZATION", "HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP")
_NAMING = frozenset((*_METHODS, *_TARGETS, _URL, *_OVERRIDES, *_REWRITES, *_HOSTS, *_CALLERS))
_ORIGIN = re.compile(r"\Ahttps?://[^/?#]*")
_FOLDED = re.compile("[^A-Z0-9]")
# What `Connection` may name. A proxy removes every header that it names, also the ones that the proxy has set.
_HOPS = frozenset({"", "close", "keep-alive", "te", "upgrade"})


@reads_no_body("/connect/forward-auth/")
@csrf_exempt
def forward_auth(request: HttpRequest, slug: str, rest: str | None = None) -> HttpResponse:
    """Return 200 with who calls, or the error that the proxy passes to the caller.

    Envoy appends the path of the call (`rest`) to this URL and repeats its method. Other proxies send both in headers.
    """
    api: ApiSnapshot | None = None
    try:
        api = _find_api(slug)
        call = _appended(request, rest) if rest is not None else _forwarded(request, api)
        permission = authorize_call(api, call)
    except Exception as error:  # noqa: BLE001  (exception_handler logs the ones that are no refusals)
        return _refusal(api, error)
    return _allowed(permission)


def _find_api(slug: str) -> ApiSnapshot:
    api = current_registry().apis.get(slug)
    if api is None or api.is_own:
        raise ApiError("not_found", "There is no such API.")
    return api


def _appended(request: HttpRequest, path: str) -> ForwardedCall:
    """Return the call whose path follows the URL, as Envoy asks. Its query and headers are the caller's own."""
    method = request.META["REQUEST_METHOD"]  # `request.method` is in capitals, whatever the caller sent
    is_replaced = _replaces_method(request, method, request.META.get("QUERY_STRING", ""))
    is_unclear = is_replaced or bool(_sent(request, _URL, *_REWRITES)) or _is_unreadable(request)
    return ForwardedCall(method, path, is_decoded=True, is_unclear=is_unclear, **_caller(request))


def _forwarded(request: HttpRequest, api: ApiSnapshot) -> ForwardedCall:
    """Return the call that headers describe. If a proxy passes on headers of the caller, they must not differ."""
    methods, targets = _sent(request, *_METHODS), _sent(request, *_TARGETS)
    urls, rewrites = _paths(request, _URL), _paths(request, *_REWRITES)
    # Without rules, a proxy need not send a target. What the API may read as one is then the caller's.
    is_unclear = not targets and not api.rules and bool(urls or rewrites)
    targets |= urls
    try:
        query = read_query(request)
        is_clear = query.is_clear("scope")
        scopes = tuple((query.get("scope") or "").split())
    except UnreadableParameters:
        is_clear, scopes = False, ()
    method, target = next(iter(methods), None), next(iter(targets), None)
    is_unclear = is_unclear or not is_clear or len(methods) > 1 or len(targets | rewrites) > 1
    is_replaced = _replaces_method(request, method, (target or "").partition("?")[2])
    is_unclear = is_unclear or is_replaced or _is_unreadable(request)
    return ForwardedCall(method, target, scopes, is_unclear=is_unclear, **_caller(request))


def _replaces_method(request: HttpRequest, method: str | None, query: str) -> bool:
    """Return whether a header or the query of the call asks the API to take it for one with another method."""
    return any(each != method for each in _sent(request, *_OVERRIDES) | methods_in(query))


def _is_unreadable(request: HttpRequest) -> bool:
    """Return whether a header hides what the call is, or lets later bytes of its connection be other calls.

    The server leaves a value empty that it can't read. A name with other characters than letters, digits and hyphens
    is the name of another header for CGI, PHP and others.
    """
    sent = request.META
    if any(sent[name] == "" for name in _NAMING.intersection(sent)):
        return True
    if sent.get("HTTP_UPGRADE", "websocket").lower() != "websocket":
        return True
    if not _HOPS.issuperset(map(str.strip, sent.get("HTTP_CONNECTION", "").lower().split(","))):
        return True
    odd = [_FOLDED.sub("_", name) for name in sent if not name.isidentifier() and name.startswith("HTTP_")]
    return any(name in _NAMING or name.startswith("HTTP_X_AUTH_") for name in odd)


def _paths(request: HttpRequest, *names: str) -> set[str]:
    """Return the targets in headers that may have the whole URL."""
    return {_ORIGIN.sub("", value, count=1) for value in _sent(request, *names)}


def _sent(request: HttpRequest, *names: str) -> set[str]:
    return {value for name in names if (value := request.META.get(name))}


def _caller(request: HttpRequest) -> dict[str, Any]:
    """Return the credential of the call, and its IP address. The peer is a proxy, so only a trusted one can name it."""
    return {
        "credential": parse_bearer_token(request.META.get("HTTP_AUTHORIZATION")),
        "address": client_ip.client_ip(request) if client_ip.comes_from_proxy(request) else "",
        "limit_key": client_ip.limit_key(request),
    }


def _allowed(permission: Permission) -> HttpResponse:
    """Return 200. All four headers are sent, some of them empty, so that a proxy replaces what a caller sent."""
    caller = permission.caller
    response = HttpResponse()
    _NO_STORE.set_on(response)
    response["X-Auth-Subject"] = caller.subject.sub
    response["X-Auth-Client"] = caller.client
    response["X-Auth-Scope"] = " ".join(permission.scopes)
    response["X-Auth-Key"] = caller.key
    return response


def _refusal(api: ApiSnapshot | None, error: Exception) -> HttpResponse:
    """Return an error in the format of `/v1`. Its body is repeated in X-Auth-Error, for proxies that drop bodies."""
    response = exception_handler(error, {})
    if api is not None and isinstance(error, ApiError):
        challenge = error.challenge_of(api.slug, metadata_url(api))
        if challenge is not None:
            response["WWW-Authenticate"] = challenge
    response["X-Auth-Error"] = response.content.decode("ascii")
    return response
