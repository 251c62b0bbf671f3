"""Which URLs and IP addresses an outgoing request may go to: https, port 443, a domain name, a public IP address."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_network
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.http.request import validate_host

from core.http.hosts import HOST_RULES, authority_of, ends_in_a_number, is_loopback
from core.outbound.limits import MAX_URL
from core.outbound.refusals import Code, OutboundRefused

IPAddress = IPv4Address | IPv6Address

# All IPv6 addresses that are routed on the internet are in this range (RFC 4291 §2.4). Outside of it are loopback,
# unspecified, multicast, link-local, unique local, IPv4-mapped and -compatible, NAT64 (64:ff9b::/96, 64:ff9b:1::/48),
# discard and segment routing.
GLOBAL_UNICAST = ip_network("2000::/3")
NOT_PUBLIC = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",  # this network, unspecified
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared by carriers (CGNAT)
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # metadata of Azure's machines; not a public host
            "169.254.0.0/16",  # link-local: 169.254.169.254 returns a cloud's credentials
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays of 6to4
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
            "2001::/23",  # protocol assignments, Teredo (2001::/32) among them
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which holds an IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)


def is_public(address: IPAddress) -> bool:
    """Return whether an IP address is public."""
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    if isinstance(address, IPv6Address) and address not in GLOBAL_UNICAST:
        return False
    return not any(address in network for network in NOT_PUBLIC)


# Nothing here sends a DNS query. URLs that are not understood are refused, so that no two parsers read them in
# different ways.

# Spaces and control characters, which some parsers remove, and the backslash, which some read as a slash.
_UNFIT = re.compile(r"[\x00-\x20\x7f-\xa0\\]")
# In path and query, all characters that RFC 3986 defines stay unchanged.
_SAFE = "%/:=&?~+!$,;'@()*[]"


@dataclass(frozen=True)
class Target:
    """What a request asks for: a host, and the path with its query."""

    host: str
    path: str

    @property
    def url(self) -> str:
        """The URL in one spelling, without a fragment."""
        return f"https://{self.host}{self.path}"


def read_target(url: str) -> Target:
    """Return the target of a URL. Raises OutboundRefused: `url`, `scheme`, and the codes of its host."""
    if len(url) > MAX_URL or _UNFIT.search(url):
        raise OutboundRefused(Code.URL)
    if not url.lower().startswith("https://"):
        raise OutboundRefused(Code.SCHEME)
    authority = authority_of(url)
    if not authority.isascii():  # before lower(), which turns some other letters into ASCII
        raise OutboundRefused(Code.HOST)
    authority = authority.lower()
    _check_authority(authority)
    try:
        parts = urlsplit(url)
        path = quote(parts.path or "/", safe=_SAFE)
        query = quote(parts.query, safe=_SAFE)
    except ValueError as error:  # for example a lone surrogate
        raise OutboundRefused(Code.URL) from error
    return Target(authority.partition(":")[0], f"{path}?{query}" if query else path)


def _check_authority(authority: str) -> None:
    """Raise OutboundRefused: `userinfo`, `ip_literal`, `port`, `host`, `own_address`."""
    if "@" in authority:
        raise OutboundRefused(Code.USERINFO)
    host, _, port = authority.partition(":")
    if "[" in authority or ends_in_a_number(host.rstrip(".")):
        raise OutboundRefused(Code.IP_LITERAL)
    if port not in ("", "443"):
        raise OutboundRefused(Code.PORT)
    # A name without a dot would be one of the operator's own network.
    if "." not in host or any(is_wrong(authority) for is_wrong, _ in HOST_RULES):
        raise OutboundRefused(Code.HOST)
    if host in _own_hosts() or validate_host(host, [name for name in settings.ALLOWED_HOSTS if name != "*"]):
        raise OutboundRefused(Code.OWN_ADDRESS)
    if is_loopback(host) and not settings.OUTBOUND_LOOPBACK_PORT:  # RFC 6761 §6.3: these are never looked up
        raise OutboundRefused(Code.PRIVATE_ADDRESS)


def _own_hosts() -> set[str | None]:
    urls = (settings.AUTH_URL, settings.BASE_URL, settings.ADMIN_URL or settings.AUTH_URL)
    return {urlsplit(url).hostname for url in urls}
