"""Reading an address that is to be asked: https, port 443, a domain name, and nothing else.

Nothing here asks a name server. What is not understood is refused, so that no two readers understand it differently.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.http.request import validate_host

from devportal.lib.hosts import HOST_RULES, authority_of, ends_in_a_number, is_loopback
from devportal.lib.outbound.limits import MAX_URL
from devportal.lib.outbound.refusals import Code, OutboundRefused

# Spaces and control characters, which some readers drop, and what some take for a slash.
_UNFIT = re.compile(r"[\x00-\x20\x7f-\xa0\\]")
# Of path and query, everything that RFC 3986 knows stays as it is.
_SAFE = "%/:=&?~+!$,;'@()*[]"


@dataclass(frozen=True)
class Target:
    """What is asked: a host, and the path with its query."""

    host: str
    path: str

    @property
    def url(self) -> str:
        """The address in one spelling, without a fragment."""
        return f"https://{self.host}{self.path}"


def read_target(url: str) -> Target:
    """Return what a URL asks for. Raises OutboundRefused: `url`, `scheme`, and those of its host."""
    if len(url) > MAX_URL or _UNFIT.search(url):
        raise OutboundRefused(Code.URL)
    if not url.lower().startswith("https://"):
        raise OutboundRefused(Code.SCHEME)
    authority = authority_of(url)
    if not authority.isascii():  # before it is lower case: of some letters that makes ASCII ones
        raise OutboundRefused(Code.HOST)
    authority = authority.lower()
    _check_authority(authority)
    try:
        parts = urlsplit(url)
        path = quote(parts.path or "/", safe=_SAFE)
        query = quote(parts.query, safe=_SAFE)
    except ValueError as error:  # lone surrogates among them
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
    # A name without a dot is one of the network that the service stands in.
    if "." not in host or any(is_wrong(authority) for is_wrong, _ in HOST_RULES):
        raise OutboundRefused(Code.HOST)
    if host in _own_hosts() or validate_host(host, [name for name in settings.ALLOWED_HOSTS if name != "*"]):
        raise OutboundRefused(Code.OWN_ADDRESS)
    if is_loopback(host) and not settings.OUTBOUND_LOOPBACK_PORT:  # RFC 6761 §6.3: these are never looked up
        raise OutboundRefused(Code.PRIVATE_ADDRESS)


def _own_hosts() -> set[str | None]:
    urls = (settings.AUTH_URL, settings.BASE_URL, settings.ADMIN_URL or settings.AUTH_URL)
    return {urlsplit(url).hostname for url in urls}
