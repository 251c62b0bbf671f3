"""Connections to IP addresses that were resolved before, with a deadline.

httpcore gets a custom network backend: the name is used in the request, in SNI and in the check of the certificate, but
the connection goes to the pinned IP address, whatever the name resolves to now. Proxy variables are ignored.
"""

import ssl
from collections.abc import Iterable, Sequence
from typing import Any

import httpcore

from core.outbound.limits import MAX_DIALLED, MAX_HEADER_BYTES, MAX_WIRE_BYTES, Deadline
from core.outbound.refusals import Code, OutboundRefused

_READ_BYTES = 16_384


def dial(address: str, port: int, seconds: float) -> httpcore.NetworkStream:
    """Open a connection to an IP address; no other code does.

    Raises httpcore.ConnectError and ConnectTimeout. Tests replace it, to map a public IP address to a local port.
    """
    return httpcore.SyncBackend().connect_tcp(address, port, timeout=seconds)


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
