"""The Host header: which names and ports are allowed, and which paths each host serves."""

import functools
import logging
from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponseRedirect
from django.http.request import split_domain_port
from django.http.response import HttpResponseBase
from django.utils.log import log_response

from core.http import client_ip, split_hosts
from core.http.direct_dispatch import HEALTH_PATHS
from core.http.error_pages import hidden_client, not_on_this_host, unknown_host
from core.http.headers import protect
from core.http.hosts import LONGEST_HOST

log = logging.getLogger(__name__)

_DEFAULT_PORTS = {"http": "80", "https": "443"}
_LONGEST_LOGGED = 100
Checked = tuple[str, frozenset[str] | None]


@functools.lru_cache(maxsize=8)
def _ports(addresses: tuple[str, ...]) -> dict[str, set[str]]:
    """Return the ports of each host in these URLs."""
    ports: dict[str, set[str]] = {}
    for address in addresses:
        parts = urlsplit(address)
        name = split_domain_port(parts.netloc)[0]
        ports.setdefault(name, set()).add(str(parts.port or _DEFAULT_PORTS.get(parts.scheme, "")))
    return ports


def own_host(request: HttpRequest) -> Checked:
    """Return the normalized Host of a request, and what it serves, as `_check` does. Raises DisallowedHost."""
    host = request.META.get("HTTP_HOST")
    hosts = split_hosts.current()
    if host is None or len(host) > LONGEST_HOST:
        return _check(request.get_host(), hosts)
    return _remembered(host, hosts, tuple(settings.ALLOWED_HOSTS), settings.PORT)


@functools.lru_cache(maxsize=64)
def _remembered(host: str, hosts: split_hosts.Hosts, allowed: tuple[str, ...], port: int) -> Checked:
    """Check a Host once for these settings. Rejected names are not cached, because strangers choose them."""
    request = HttpRequest()
    request.META["HTTP_HOST"] = host
    return _check(request.get_host(), hosts)


def _check(given: str, hosts: split_hosts.Hosts) -> Checked:
    """Return a Host normalized (lower case, no trailing dot, no default port), and what it serves if hosts are split.

    Raises DisallowedHost for a name that is not in ALLOWED_HOSTS. The names of AUTH_URL, BASE_URL and ADMIN_URL are
    only allowed with their own ports; other names in ALLOWED_HOSTS are allowed with all of these ports and PORT. A Host
    without a port is allowed, because many proxies remove it.
    """
    name, port = split_domain_port(given)
    public = _ports(tuple(hosts.addresses.values()))
    allowed = public.get(name) or {str(settings.PORT)}.union(*public.values())
    if port and port not in allowed:
        raise DisallowedHost("The port is not one of AUTH_URL, BASE_URL or ADMIN_URL.")
    goes_without_saying = _DEFAULT_PORTS.get(urlsplit(settings.AUTH_URL).scheme)
    host = f"{name}:{port}" if port and port != goes_without_saying else name
    return host, split_hosts.parts_of(name) if hosts.is_split else None


class HostMiddleware:
    """Returns 400 for an unknown Host or an unreadable X-Forwarded-For, before other code reads it, with a log line.

    With split hosts, it returns 404 for paths that another host serves (docs/operations.md#hosts), without using
    sessions or the database.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info in HEALTH_PATHS:
            return self.get_response(request)
        if client_ip.is_hidden(request):
            response = protect(hidden_client(request))
            log_response(
                "Refused an X-Forwarded-For that can't be read", response=response, request=request, logger=log
            )
            return response
        if request.path_info.startswith(settings.ANY_HOST_PREFIXES):
            return self.get_response(request)
        try:
            host, parts = own_host(request)
        except DisallowedHost:
            response = protect(unknown_host(request))  # the middleware that adds headers comes after this one
            given = request.META.get("HTTP_HOST", "")[:_LONGEST_LOGGED]
            log_response("Refused a request for host %s", given, response=response, request=request, logger=log)
            return response
        if "HTTP_HOST" in request.META:
            # Code after this middleware sees the normalized host.
            request.META["HTTP_HOST"] = host
        if parts is not None and not split_hosts.is_in(parts, request.path_info):
            return self._elsewhere(request, host)
        return self.get_response(request)

    def _elsewhere(self, request: HttpRequest, host: str) -> HttpResponseBase:
        """Return 404; on the admin's host, the path "/" redirects to the admin."""
        if split_hosts.serves_only(request, split_hosts.ADMIN) and request.path_info == "/":
            return HttpResponseRedirect(settings.ADMIN_PREFIXES[0])
        response = protect(not_on_this_host(request, split_hosts.serves_only(request, split_hosts.API)))
        log_response("Not on host %s: %s", host, request.path, response=response, request=request, logger=log)
        return response
