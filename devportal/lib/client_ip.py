"""The client's IP address: from X-Forwarded-For only behind TRUSTED_PROXIES."""

import ipaddress
from contextvars import ContextVar

from django.conf import settings
from django.http import HttpRequest

_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _parse(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text.strip())
    except ValueError:
        return None


def _is_trusted(address: _Address) -> bool:
    return any(address in ipaddress.ip_network(proxy, strict=False) for proxy in settings.TRUSTED_PROXIES)


def comes_from_proxy(request: HttpRequest) -> bool:
    """Return whether the peer is one of TRUSTED_PROXIES, whose headers are trusted."""
    return is_proxy(request.META.get("REMOTE_ADDR", ""))


def is_proxy(peer: str) -> bool:
    """Return whether an address is one of TRUSTED_PROXIES."""
    address = _parse(peer)
    return address is not None and _is_trusted(address)


def client_ip(request: HttpRequest) -> str:
    """Return the client's IP address: the nearest one that is not a trusted proxy, "0.0.0.0" if there is none.

    X-Forwarded-For is read from the right and only behind a trusted peer, so a caller can't choose its own.
    """
    address = _parse(request.META.get("REMOTE_ADDR", "")) or ipaddress.IPv4Address(0)
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if settings.TRUSTED_PROXIES else []
    while hops and _is_trusted(address):
        hop = _parse(hops.pop())
        if hop is None:
            break
        address = hop
    return str(address)


def remember(request: HttpRequest) -> None:
    """Set the request for `current`."""
    _request.set(request)


def forget() -> None:
    """Reset the request for `current` at its end."""
    _request.set(None)


def current() -> str:
    """Return the IP address of the current request, "" outside of one."""
    request = _request.get()
    return "" if request is None else client_ip(request)


def limit_key(request: HttpRequest) -> str:
    """Return the key of rate limits by address: the IP address, for IPv6 its /64."""
    address = ipaddress.ip_address(client_ip(request))
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network(f"{address}/64", strict=False))
    return str(address)
