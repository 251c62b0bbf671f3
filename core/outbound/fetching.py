"""GET requests to a URL that somebody outside has entered, including redirects on its host."""

import ssl
from dataclasses import dataclass
from urllib.parse import urljoin

import httpcore
from django.conf import settings

from core.outbound.connections import PinnedNetwork
from core.outbound.limits import MAX_BYTES, MAX_REDIRECTS, Deadline
from core.outbound.name_lookup import LOOPBACK, find_addresses
from core.outbound.refusals import Code, OutboundRefused
from core.outbound.targets import IPAddress, Target, read_target

HTTPS_PORT = 443
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LONGEST_CONTENT_TYPE = 200


@dataclass(frozen=True)
class Answer:
    """A response: `url` is the URL after redirects, `body` has at most MAX_BYTES."""

    url: str
    status: int
    content_type: str
    body: bytes

    @property
    def text(self) -> str:
        """The body as text; invalid UTF-8 is replaced."""
        return self.body.decode("utf-8", "replace")


def fetch(url: str) -> Answer:
    """GET an https URL of a public host, within SECONDS, and return the response, whatever its status is.

    Follows redirects on the same host. The name is resolved once, and every connection uses the resolved IP addresses.
    Raises OutboundRefused.
    """
    deadline = Deadline()
    target = read_target(url)
    addresses = find_addresses(target.host, deadline)
    trust = httpcore.default_ssl_context()  # certificate authorities of the system and of certifi
    for _ in range(MAX_REDIRECTS + 1):
        answer = _ask(target, addresses, trust, deadline)
        if isinstance(answer, Answer):
            return answer
        target = answer
    raise OutboundRefused(Code.REDIRECTS)


def _ask(
    target: Target, addresses: tuple[IPAddress, ...], trust: ssl.SSLContext, deadline: Deadline
) -> Answer | Target:
    """Return the response, or the target that it redirects to."""
    # name_lookup.py only returns loopback addresses if OUTBOUND_LOOPBACK_PORT is set.
    to_loopback = addresses[0].is_loopback
    endpoints = (
        [(str(LOOPBACK), settings.OUTBOUND_LOOPBACK_PORT)]
        if to_loopback
        else [(str(address), HTTPS_PORT) for address in addresses]
    )
    network = PinnedNetwork(endpoints, deadline)
    url = httpcore.URL(
        scheme=b"http" if to_loopback else b"https", host=target.host.encode(), port=None, target=target.path.encode()
    )
    try:
        with (
            httpcore.ConnectionPool(trust, network_backend=network, max_connections=1) as pool,
            pool.stream("GET", url, headers=_headers()) as response,
        ):
            network.headers_are_read = True
            return _read(response, target)
    except httpcore.TimeoutException as error:
        raise OutboundRefused(Code.TIMEOUT) from error
    except httpcore.NetworkError as error:
        raise OutboundRefused(Code.INCOMPLETE if network.headers_are_read else Code.UNREACHABLE) from error
    except httpcore.ProtocolError as error:
        raise OutboundRefused(Code.INCOMPLETE if network.headers_are_read else Code.BAD_ANSWER) from error


def _headers() -> list[tuple[bytes, bytes]]:
    """Return the request's headers, which identify the service and contain no personal data."""
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in settings.SERVICE_NAME)
    agent = f"{name.strip('-') or 'Portal'} (+{settings.AUTH_URL})"
    return [
        (b"User-Agent", agent.encode("ascii", "replace")),
        (b"Accept", b"text/html, text/plain, */*;q=0.5"),
        (b"Accept-Encoding", b"identity"),
        (b"Connection", b"close"),
    ]


def _read(response: httpcore.Response, target: Target) -> Answer | Target:
    headers = {name.lower(): value.decode("utf-8", "replace").strip() for name, value in reversed(response.headers)}
    if response.status in REDIRECTS and b"location" in headers:
        return _redirected(target, headers[b"location"])
    # Compressed bodies are not unpacked, and can't be used as a page or a proof.
    encodings = {value.strip().lower() for name, value in response.headers if name.lower() == b"content-encoding"}
    if encodings - {b"", b"identity"}:
        raise OutboundRefused(Code.ENCODED)
    content_type = headers.get(b"content-type", "")[:_LONGEST_CONTENT_TYPE]
    return Answer(target.url, response.status, content_type, _body(response, headers.get(b"content-length", "")))


def _redirected(target: Target, location: str) -> Target:
    try:
        following = read_target(urljoin(target.url, location))
    except ValueError as error:
        raise OutboundRefused(Code.REDIRECT, cause=Code.URL) from error
    except OutboundRefused as refused:
        raise OutboundRefused(Code.REDIRECT, cause=refused.code) from refused
    if following.host != target.host:
        raise OutboundRefused(Code.REDIRECT, cause=Code.ANOTHER_HOST)
    return following


def _body(response: httpcore.Response, declared: str) -> bytes:
    if declared.isdecimal() and int(declared) > MAX_BYTES:
        raise OutboundRefused(Code.TOO_LARGE)
    body = bytearray()
    for chunk in response.iter_stream():
        body += chunk
        if len(body) > MAX_BYTES:
            raise OutboundRefused(Code.TOO_LARGE)
    return bytes(body)
