"""The client's IP address: from X-Forwarded-For only behind TRUSTED_PROXIES."""

import functools
import ipaddress
import re
from contextvars import ContextVar

from django.conf import settings
from django.http import HttpRequest

_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


# What a proxy may write: an IP address, IPv6 with or without brackets; IPv4 and brackets may be followed by a port.
_WITH_PORT = re.compile(r"(?:([0-9.]{7,15})|\[([0-9A-Fa-f:.]{2,45}(?:%[^\]%]{1,32})?)\])(?::([0-9]{1,5}))?")
_LONGEST = 100
# RFC 4291 §2.5.5.2: how a socket for both versions shows IPv4 peers.
_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")


def _parse(text: str) -> _Address | None:
    """Return the IP address in a text, or None if it is malformed.

    An IPv4-mapped IPv6 address is returned as the IPv4 address; a port and a zone (`%eth0`) are removed.
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    version: type[ipaddress.IPv4Address | ipaddress.IPv6Address] | None = None
    if found := _WITH_PORT.fullmatch(text):
        v4, v6, port = found.groups()
        if int(port or 0) > 65_535:
            return None
        text, version = v4 or v6, ipaddress.IPv4Address if v4 else ipaddress.IPv6Address
    try:
        address = version(text) if version else ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        return address
    return address.ipv4_mapped or ipaddress.IPv6Address(int(address))


@functools.lru_cache(maxsize=64)
def proxy_network(proxy: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Return the network of an entry of TRUSTED_PROXIES. Raises ValueError if it is invalid.

    A network of IPv4-mapped IPv6 addresses is returned as the IPv4 network, because peers are converted too.
    """
    network = ipaddress.ip_network(proxy, strict=False)
    if isinstance(network, ipaddress.IPv6Network) and network.subnet_of(_MAPPED):
        mapped = network.network_address.ipv4_mapped
        return ipaddress.ip_network(f"{mapped}/{network.prefixlen - _MAPPED.prefixlen}")
    return network


def _is_trusted(address: _Address) -> bool:
    return any(address in proxy_network(proxy) for proxy in settings.TRUSTED_PROXIES)


def comes_from_proxy(request: HttpRequest) -> bool:
    """Return whether the peer is one of TRUSTED_PROXIES, whose headers are trusted."""
    return is_proxy(request.META.get("REMOTE_ADDR", ""))


def is_proxy(peer: str) -> bool:
    """Return whether an IP address is one of TRUSTED_PROXIES."""
    address = _parse(peer)
    return address is not None and _is_trusted(address)


def client_ip(request: HttpRequest) -> str:
    """Return the client's IP address: the nearest one that is not a trusted proxy, "0.0.0.0" if there is none.

    X-Forwarded-For is read from right to left, and only behind a trusted peer, so callers can't choose their own IP
    address. Reading stops at a malformed entry: the proxy that wrote it counts as the client.
    """
    return str(_nearest(request)[0])


def is_hidden(request: HttpRequest) -> bool:
    """Return whether X-Forwarded-For is there, but empty where it should name the client.

    The server hands over a header with a byte beyond ASCII as an empty one (docs/operations.md#bytes-beyond-ascii). The
    proxy must not count as the client then: everyone who sends such a byte would have its IP address.
    """
    sent = request.META.get("HTTP_X_FORWARDED_FOR")
    return sent is not None and (not sent or "," in sent) and _nearest(request)[1]


def _nearest(request: HttpRequest) -> tuple[_Address, bool]:
    """Return the client's IP address, and whether reading stopped at an empty entry."""
    address = _parse(request.META.get("REMOTE_ADDR", "")) or ipaddress.IPv4Address(0)
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if settings.TRUSTED_PROXIES else []
    while hops and _is_trusted(address):
        written = hops.pop()
        hop = _parse(written)
        if hop is None:
            return address, not written.strip()
        address = hop
    return address, False


def remember(request: HttpRequest) -> None:
    """Store the request for `current`."""
    _request.set(request)


def forget() -> None:
    """Reset the request for `current` at the end of the request."""
    _request.set(None)


def current() -> str:
    """Return the IP address of the current request, "" outside of a request."""
    request = _request.get()
    return "" if request is None else client_ip(request)


def limit_key(request: HttpRequest) -> str:
    """Return the key of rate limits by IP address: the address itself, for IPv6 its /64 network."""
    return limit_key_of(client_ip(request))


def limit_key_of(ip: str) -> str:
    """Return the key of rate limits of an IP address."""
    address = ipaddress.ip_address(ip)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network(f"{address}/64", strict=False))
    return str(address)
