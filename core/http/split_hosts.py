"""Which paths each host serves if AUTH_URL, BASE_URL and ADMIN_URL have different hosts.

docs/operations.md#hosts lists what belongs where. Hosts are distinguished by name only, because a proxy may remove the
port. While all three URLs have the same name, every allowed Host serves everything.
"""

import functools
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.urls import Resolver404, resolve

from core.marks import Mark

PEOPLE, API, ADMIN = "people", "api", "admin"
_NOTHING: frozenset[str] = frozenset()
# Pages that people need to sign in to the admin on its own host.
on_admin_host = Mark("on_admin_host")


@dataclass(frozen=True, eq=False)
class Hosts:
    """Which parts of the service the hosts of the three URLs serve."""

    addresses: dict[str, str]  # URL of each part, without trailing slash
    parts: dict[str, frozenset[str]]  # parts that each host name serves
    is_split: bool


@functools.lru_cache(maxsize=8)
def _hosts(auth_url: str, base_url: str, admin_url: str) -> Hosts:
    addresses = {PEOPLE: auth_url, API: base_url, ADMIN: admin_url or auth_url}
    parts: dict[str, frozenset[str]] = {}
    for part, address in addresses.items():
        name = host_name(urlsplit(address).netloc)
        parts[name] = parts.get(name, _NOTHING) | {part}
    return Hosts(addresses, parts, len(parts) > 1)


def current() -> Hosts:
    """Return the hosts in the settings."""
    return _hosts(settings.AUTH_URL, settings.BASE_URL, settings.ADMIN_URL)


def host_name(host: str) -> str:
    """Return the name in a Host header, in lower case, without port and trailing dot."""
    return split_domain_port(host)[0]


def name_of(request: HttpRequest) -> str:
    """Return the name of a request's host; "" if it is not allowed, so that its error page links to AUTH_URL."""
    try:
        return host_name(request.get_host())
    except DisallowedHost:
        return ""


def people_host() -> str:
    """Return the name of AUTH_URL's host."""
    return host_name(urlsplit(settings.AUTH_URL).netloc)


def part_of(path: str) -> str:
    """Return the part that a path belongs to; everything that is neither API nor admin is for people."""
    if path in settings.API_PATHS or path.startswith(settings.API_PREFIXES):
        return API
    if path in settings.ADMIN_PATHS or path.startswith(settings.ADMIN_PREFIXES):
        return ADMIN
    return PEOPLE


def _is_on_admin_host(path: str) -> bool:
    try:
        return on_admin_host.is_on(resolve(path).func)
    except Resolver404:
        return False


def is_served(host: str, path: str) -> bool:
    """Return whether a host serves a path, with split hosts."""
    return is_in(parts_of(host), path)


def parts_of(host: str) -> frozenset[str]:
    """Return the parts that a host serves.

    A name that is none of the three serves only what every host serves. The sender of a request chooses its Host, and
    could otherwise choose a name that serves everything.
    """
    return current().parts.get(host_name(host), _NOTHING)


def is_in(parts: frozenset[str], path: str) -> bool:
    """Return whether a path belongs to one of these parts, or is served on every host."""
    return (
        part_of(path) in parts
        or path in settings.EVERY_HOST_PATHS
        or (PEOPLE in parts and path.startswith(settings.PEOPLE_AND_API_PREFIXES))
        or path.startswith(settings.STATIC_URL)
        or (ADMIN in parts and _is_on_admin_host(path))
    )


def serves_only(request: HttpRequest, part: str) -> bool:
    """Return whether hosts are split, and the request's host serves this part and no other."""
    hosts = current()
    return hosts.is_split and hosts.parts.get(name_of(request), _NOTHING) == {part}


def address_of(path: str) -> str:
    """Return the URL of a path, on the host that it belongs to: for mails and documents."""
    return current().addresses[part_of(path.partition("?")[0])] + path


def link(path: str, request: HttpRequest | None) -> str:
    """Return a path unchanged, or as a URL if the request's host does not serve it: for pages and redirects."""
    if request is None or not current().is_split or is_served(name_of(request), path.partition("?")[0]):
        return path
    return address_of(path)
