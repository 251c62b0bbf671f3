"""Requests to URLs that developers enter: to an IP address that was resolved before, with a deadline.

`fetch` reads a page, `post` delivers something.

httpcore gets a custom network backend: the name is used in the request, in SNI and in the check of the certificate, but
the connection goes to the pinned IP address, whatever the name resolves to now. Proxy variables are ignored.
"""

import contextlib
import functools
import ssl
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

import httpcore
from django.conf import settings

from core.http.hosts import is_loopback
from core.outbound.limits import (
    MAX_BYTES,
    MAX_DIALLED,
    MAX_HEADER_BYTES,
    MAX_REDIRECTS,
    MAX_REPLY_BYTES,
    MAX_WIRE_BYTES,
    REPLY_SECONDS,
    Deadline,
)
from core.outbound.name_lookup import LOOPBACK, find_addresses
from core.outbound.targets import DEFAULT_PORTS, HTTPS_PORT, Code, IPAddress, OutboundRefused, Target, read_target

_READ_BYTES = 16_384


def dial(address: str, port: int, seconds: float) -> httpcore.NetworkStream:
    """Open a connection to an IP address; no other code does.

    Raises httpcore.ConnectError and ConnectTimeout. Tests replace it, to map a public IP address to a local port.
    """
    return httpcore.SyncBackend().connect_tcp(address, port, timeout=seconds)


@functools.cache
def _trust(*, is_checked: bool = True) -> ssl.SSLContext:
    """Return the TLS context of all requests, because reading the certificate authorities takes 50 ms.

    They are those of the system and of certifi.
    """
    context = httpcore.default_ssl_context()
    if not is_checked:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class PinnedNetwork(httpcore.NetworkBackend):
    """The network of one request: it knows `endpoints`, pairs of IP address and port, and resolves no names."""

    def __init__(self, endpoints: Sequence[tuple[str, int]], deadline: Deadline) -> None:
        self._endpoints = endpoints[:MAX_DIALLED]
        self._deadline = deadline
        self._received = 0
        self.headers_are_read = False

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first endpoint that responds; each gets an equal share of the time that is left."""
        for tried, (address, pinned_port) in enumerate(self._endpoints):
            seconds = self.seconds_left() / (len(self._endpoints) - tried)
            try:
                return _Stream(dial(address, pinned_port, seconds), self)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        if not self._deadline.left():
            raise OutboundRefused(Code.TIMEOUT)
        raise OutboundRefused(Code.UNREACHABLE)

    def seconds_left(self) -> float:
        """Return the seconds for the next step. Raises OutboundRefused: `timeout`."""
        seconds = self._deadline.left()
        if not seconds:
            raise OutboundRefused(Code.TIMEOUT)
        return seconds

    def count_received(self, size: int) -> None:
        """Count received bytes. Raises OutboundRefused: `too_large`."""
        self._received += size
        if self._received > MAX_WIRE_BYTES:
            raise OutboundRefused(Code.TOO_LARGE)

    def check_headers(self) -> None:
        """Raise OutboundRefused, `headers_too_large`, if the headers are too long."""
        if not self.headers_are_read and self._received >= MAX_HEADER_BYTES:
            raise OutboundRefused(Code.HEADERS_TOO_LARGE)


class _Stream(httpcore.NetworkStream):
    """A connection whose every step ends at the deadline, however slowly data arrives."""

    def __init__(self, stream: httpcore.NetworkStream, network: PinnedNetwork) -> None:
        self._stream = stream
        self._network = network

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._network.check_headers()
        data = self._stream.read(min(max_bytes, _READ_BYTES), self._network.seconds_left())
        self._network.count_received(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._network.seconds_left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Begin TLS. Raises OutboundRefused: `certificate` with its reason, `tls`."""
        try:
            stream = self._stream.start_tls(ssl_context, server_hostname, self._network.seconds_left())
        except httpcore.ConnectError as error:
            cause = error.__cause__
            if isinstance(cause, ssl.SSLCertVerificationError):
                raise OutboundRefused(Code.CERTIFICATE, error=cause.verify_message.rstrip(".")) from error
            raise OutboundRefused(Code.TLS) from error
        return _Stream(stream, self._network)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


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
    for _ in range(MAX_REDIRECTS + 1):
        answer = _ask(target, addresses, _trust(), deadline)
        if isinstance(answer, Answer):
            return answer
        target = answer
    raise OutboundRefused(Code.REDIRECTS)


def _ask(
    target: Target, addresses: tuple[IPAddress, ...], trust: ssl.SSLContext, deadline: Deadline
) -> Answer | Target:
    """Return the response, or the target that it redirects to."""
    request = _Request(b"GET", [*_identity(), (b"Accept", b"text/html, text/plain, */*;q=0.5")])
    with _response(request, _route(target, addresses), trust, deadline) as response:
        return _read(response, target)


@dataclass(frozen=True)
class _Request:
    method: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes | None = None


@dataclass(frozen=True)
class _Route:
    """Where a request goes: `url` names the host, `endpoints` are pairs of IP address and port."""

    url: httpcore.URL
    endpoints: list[tuple[str, int]]


def _route(target: Target, addresses: Iterable[IPAddress]) -> _Route:
    endpoints, scheme = [(str(address), target.port) for address in addresses], target.scheme
    port = None if target.port == DEFAULT_PORTS[scheme] else target.port
    # name_lookup.py returns loopback addresses for such a target only if OUTBOUND_LOOPBACK_PORT is set.
    if port is None and is_loopback(endpoints[0][0]) and settings.OUTBOUND_LOOPBACK_PORT:
        endpoints, scheme = [(str(LOOPBACK), settings.OUTBOUND_LOOPBACK_PORT)], "http"
    url = httpcore.URL(scheme=scheme.encode(), host=target.host.encode(), port=port, target=target.path.encode())
    return _Route(url, endpoints)


@contextlib.contextmanager
def _response(
    request: _Request, route: _Route, trust: ssl.SSLContext, deadline: Deadline
) -> Iterator[httpcore.Response]:
    """Send a request and yield its response, whose body is not read yet. Raises OutboundRefused, also while reading."""
    network = PinnedNetwork(route.endpoints, deadline)
    try:
        with (
            httpcore.ConnectionPool(trust, network_backend=network, max_connections=1) as pool,
            pool.stream(request.method, route.url, headers=request.headers, content=request.body) as response,
        ):
            network.headers_are_read = True
            yield response
    except httpcore.TimeoutException as error:
        raise OutboundRefused(Code.TIMEOUT) from error
    except httpcore.NetworkError as error:
        raise OutboundRefused(Code.INCOMPLETE if network.headers_are_read else Code.UNREACHABLE) from error
    except httpcore.ProtocolError as error:
        raise OutboundRefused(Code.INCOMPLETE if network.headers_are_read else Code.BAD_ANSWER) from error


@dataclass(frozen=True)
class Reply:
    """The response to a POST: its status, and the beginning of its body as text."""

    status: int
    beginning: str


def post(url: str, body: bytes, content_type: str, *, loopback: bool = False) -> Reply:
    """POST to an https URL of a public host, within SECONDS, and return the status and the first kilobyte.

    Redirects are not followed. Once the status is received, the response counts, even if its body is slow, too large
    or incomplete. With `loopback`, the URL may also be one of this machine: then http and any port are accepted, and
    no certificate is checked, because the request does not leave the machine. Raises OutboundRefused.
    """
    deadline = Deadline()
    target = read_target(url, loopback=loopback)
    addresses = find_addresses(target.host, deadline, loopback=loopback)
    is_here = addresses[0].is_loopback
    if target.scheme != "https" and not is_here:
        raise OutboundRefused(Code.SCHEME)
    if target.port != HTTPS_PORT and not is_here:
        raise OutboundRefused(Code.PORT)
    headers = [
        *_identity(),
        (b"Accept", b"application/json"),
        (b"Content-Type", content_type.encode()),
        (b"Content-Length", str(len(body)).encode()),
    ]
    trust = _trust(is_checked=not is_here)
    with _response(_Request(b"POST", headers, body), _route(target, addresses), trust, deadline) as response:
        deadline.shorten(REPLY_SECONDS)
        return Reply(response.status, _beginning(response))


def _beginning(response: httpcore.Response) -> str:
    """Return the first kilobyte of a body; what was received until an error or the deadline."""
    found = b""
    with contextlib.suppress(OutboundRefused, httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError):
        for chunk in response.iter_stream():
            found += chunk
            if len(found) >= MAX_REPLY_BYTES:
                break
    return found[:MAX_REPLY_BYTES].decode("utf-8", "replace").replace("\x00", "\ufffd")


def _identity() -> list[tuple[bytes, bytes]]:
    """Return the headers that each request has. They identify the service and contain no personal data."""
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in settings.SERVICE_NAME)
    agent = f"{name.strip('-') or 'Portal'} (+{settings.AUTH_URL})"
    return [
        (b"User-Agent", agent.encode("ascii", "replace")),
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
