"""The Host header: names in ALLOWED_HOSTS, at the ports of the service, and what each of them serves."""

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

from devportal.lib import split_hosts
from devportal.lib.direct_dispatch import HEALTH_PATHS
from devportal.lib.error_pages import not_on_this_host, unknown_host
from devportal.lib.headers import protect

log = logging.getLogger(__name__)

_DEFAULT_PORTS = {"http": "80", "https": "443"}
_LONGEST_LOGGED = 100


@functools.lru_cache(maxsize=8)
def _ports(addresses: tuple[str, ...]) -> dict[str, set[str]]:
    """Return the ports of each host of these addresses."""
    ports: dict[str, set[str]] = {}
    for address in addresses:
        parts = urlsplit(address)
        name = split_domain_port(parts.netloc)[0]
        ports.setdefault(name, set()).add(str(parts.port or _DEFAULT_PORTS.get(parts.scheme, "")))
    return ports


def own_host(request: HttpRequest) -> str:
    """Return the normalized Host of a request: lower case, without trailing dot and default port.

    Raises DisallowedHost for a name that is not in ALLOWED_HOSTS, and at the names of AUTH_URL, BASE_URL and ADMIN_URL
    for a port that is not theirs; any other allowed name is answered at these ports and at PORT. A Host without a port
    passes: many proxies drop it.
    """
    name, port = split_domain_port(request.get_host())
    auth_url = settings.AUTH_URL
    public = _ports(tuple(split_hosts.current().addresses.values()))
    allowed = public.get(name) or {str(settings.PORT)}.union(*public.values())
    if port and port not in allowed:
        raise DisallowedHost("The port is none of AUTH_URL, BASE_URL or ADMIN_URL.")
    goes_without_saying = _DEFAULT_PORTS.get(urlsplit(auth_url).scheme)
    return f"{name}:{port}" if port and port != goes_without_saying else name


class HostMiddleware:
    """Answers 400 to a foreign Host, before other code reads it, with one line in the log.

    With split hosts, 404 to what does not belong on this one (docs/operations.md#hosts), before sessions and database.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info in HEALTH_PATHS:
            return self.get_response(request)
        try:
            host = own_host(request)
        except DisallowedHost:
            response = protect(unknown_host(request))  # those who add headers stand further in
            given = request.META.get("HTTP_HOST", "")[:_LONGEST_LOGGED]
            log_response("Refused a request for host %s", given, response=response, request=request, logger=log)
            return response
        if "HTTP_HOST" in request.META:
            # Code after this middleware sees the normalized host.
            request.META["HTTP_HOST"] = host
        if split_hosts.current().is_split and not split_hosts.is_served(host, request.path_info):
            return self._elsewhere(request, host)
        return self.get_response(request)

    def _elsewhere(self, request: HttpRequest, host: str) -> HttpResponseBase:
        """Return 404; the empty path of the admin's host leads to the admin."""
        if split_hosts.serves_only(request, split_hosts.ADMIN) and request.path_info == "/":
            return HttpResponseRedirect(settings.ADMIN_PREFIXES[0])
        response = protect(not_on_this_host(request, split_hosts.serves_only(request, split_hosts.API)))
        log_response("Not on host %s: %s", host, request.path, response=response, request=request, logger=log)
        return response
