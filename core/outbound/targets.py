"""The targets of outbound requests that are allowed, and the reasons why a request brought nothing usable.

The sentences reveal nothing about the service's own networks: all IP addresses that are not public get the same one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.http.request import validate_host

from core.http.hosts import HOST_RULES, authority_of, ends_in_a_number, host_and_port, is_loopback
from core.messages import fill_in
from core.outbound.limits import MAX_BYTES, MAX_REDIRECTS, MAX_URL, SECONDS

HTTPS_PORT = 443
DEFAULT_PORTS = {"https": HTTPS_PORT, "http": 80}
_SIZE = f"{MAX_BYTES // 1024} KB"
_TIME = f"{SECONDS:g} seconds"


class Code(StrEnum):
    """The reason why a request brought nothing usable."""

    # The URL itself (targets.py).
    URL = "url"
    SCHEME = "scheme"
    USERINFO = "userinfo"
    PORT = "port"
    IP_LITERAL = "ip_literal"
    HOST = "host"
    OWN_ADDRESS = "own_address"
    # Name servers (name_lookup.py).
    NO_ADDRESS = "no_address"
    DNS_FAILED = "dns_failed"
    DNS_TIMEOUT = "dns_timeout"
    TOO_MANY_RECORDS = "too_many_records"
    PRIVATE_ADDRESS = "private_address"
    # The connection (fetching.py).
    UNREACHABLE = "unreachable"
    CERTIFICATE = "certificate"
    TLS = "tls"
    TIMEOUT = "timeout"
    # The response (fetching.py).
    REDIRECT = "redirect"
    ANOTHER_HOST = "another_host"
    REDIRECTS = "redirects"
    BAD_ANSWER = "bad_answer"
    HEADERS_TOO_LARGE = "headers_too_large"
    ENCODED = "encoded"
    TOO_LARGE = "too_large"
    INCOMPLETE = "incomplete"


TEXTS: Mapping[str, str] = {
    Code.URL: "This URL can't be requested: it is too long, or contains spaces or other invalid characters.",
    Code.SCHEME: "Only URLs that begin with https:// are requested.",
    Code.USERINFO: "The URL has a user name or password before its host. Remove it.",
    Code.PORT: "Only port 443, the port of https, is requested. Remove the port.",
    Code.IP_LITERAL: "The host of the URL is an IP address. Use a domain name.",
    Code.HOST: "The host is not a full domain name, such as www.example.com.",
    Code.OWN_ADDRESS: "This URL belongs to the service itself.",
    Code.NO_ADDRESS: "The host has no IP address: its name servers have neither an A nor an AAAA record.",
    Code.DNS_FAILED: "The name servers of the domain answered with an error. Check its DNS records and delegation.",
    Code.DNS_TIMEOUT: f"The name servers of the domain did not answer within {_TIME}.",
    Code.TOO_MANY_RECORDS: "The name has too many TXT records. Remove the ones that are not needed.",
    Code.PRIVATE_ADDRESS: "The host has an IP address that is not public.",
    Code.UNREACHABLE: "The host accepts no connection on port 443, or closed it before it responded.",
    Code.CERTIFICATE: "The host’s certificate is not valid: {error}.",
    Code.TLS: "The host does not support TLS 1.2 or newer on port 443.",
    Code.TIMEOUT: f"The host did not send a complete response within {_TIME}.",
    # `cause` is the text of another code: why the redirect is not followed.
    Code.REDIRECT: "The URL redirects to one that is not requested. {cause}",
    Code.ANOTHER_HOST: "The URL leads to another host. Enter the URL that it leads to.",
    Code.REDIRECTS: f"The URL redirects more than {MAX_REDIRECTS} times.",
    Code.BAD_ANSWER: "The host’s response is not valid HTTP.",
    Code.HEADERS_TOO_LARGE: "The headers of the response are too large.",
    Code.ENCODED: "The response is compressed, although the request asked for no compression (Accept-Encoding: "
    "identity).",
    Code.TOO_LARGE: f"The response is larger than {_SIZE}.",
    Code.INCOMPLETE: "The response ended before it was complete.",
}


def text_of(code: str, parameters: Mapping[str, Any]) -> str:
    """Return the sentence of a code."""
    cause = parameters.get("cause")
    return fill_in(TEXTS[code], {**parameters, "cause": text_of(cause, {})} if cause else parameters)


class OutboundRefused(Exception):
    """A request brought nothing usable. `parameters` are those of the code's text."""

    def __init__(self, code: Code, **parameters: Any) -> None:
        super().__init__(code, parameters)
        self.code = code
        self.parameters = parameters

    @property
    def text(self) -> str:
        """The sentence for the developer who entered the URL."""
        return text_of(self.code, self.parameters)

    def __str__(self) -> str:
        return self.text


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
    """What a request asks for: scheme, host, port, and the path with its query."""

    host: str
    path: str
    scheme: str = "https"
    port: int = HTTPS_PORT

    @property
    def url(self) -> str:
        """The URL in one spelling, without a fragment."""
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}{self.path}"


def read_target(url: str, *, loopback: bool = False) -> Target:
    """Return the target of a URL. Raises OutboundRefused: `url`, `scheme`, and the codes of its host.

    With `loopback`, the URL may also be one of this machine, with http or any port. Whether it really is one follows
    from the IP addresses of its host (core/outbound/name_lookup.py).
    """
    if len(url) > MAX_URL or _UNFIT.search(url):
        raise OutboundRefused(Code.URL)
    scheme = url.partition("://")[0].lower()
    if scheme != "https" and not (loopback and scheme == "http"):
        raise OutboundRefused(Code.SCHEME)
    authority = authority_of(url)
    if not authority.isascii():  # before lower(), which turns some other letters into ASCII
        raise OutboundRefused(Code.HOST)
    authority = authority.lower()
    if loopback and is_loopback(authority.partition(":")[0]) and "@" not in authority:
        _check_own_service(url)
    else:
        _check_authority(authority, any_port=loopback)
    try:
        parts = urlsplit(url)
        path = quote(parts.path or "/", safe=_SAFE)
        query = quote(parts.query, safe=_SAFE)
    except ValueError as error:  # for example a lone surrogate
        raise OutboundRefused(Code.URL) from error
    host, _, port = authority.partition(":")
    return Target(host, f"{path}?{query}" if query else path, scheme, int(port or DEFAULT_PORTS[scheme]))


def _check_own_service(url: str) -> None:
    """Raise OutboundRefused unless a loopback URL has a valid port that is not the service's own."""
    try:
        place = host_and_port(url, DEFAULT_PORTS[url.partition("://")[0].lower()])
    except ValueError as error:
        raise OutboundRefused(Code.PORT) from error
    own = (settings.AUTH_URL, settings.BASE_URL, settings.ADMIN_URL or settings.AUTH_URL)
    if place in {host_and_port(each, DEFAULT_PORTS[urlsplit(each).scheme]) for each in own}:
        raise OutboundRefused(Code.OWN_ADDRESS)


def _check_authority(authority: str, *, any_port: bool = False) -> None:
    """Raise OutboundRefused: `userinfo`, `ip_literal`, `port`, `host`, `own_address`."""
    if "@" in authority:
        raise OutboundRefused(Code.USERINFO)
    host, _, port = authority.partition(":")
    if "[" in authority or ends_in_a_number(host.rstrip(".")):
        raise OutboundRefused(Code.IP_LITERAL)
    if port not in ("", "443") and not any_port:
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
