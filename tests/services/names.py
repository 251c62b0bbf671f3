"""A name server on loopback whose records a test may change while it runs.

    with names.serve() as server:
        server.set("shop.test", "A", "93.184.216.34")
        settings.DNS_SERVERS = [server.address]

It responds over UDP and TCP on one port. Names without records are NXDOMAIN.
"""

import contextlib
import socket
import socketserver
import struct
import threading
from collections.abc import Iterator, Sequence

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

TTL = 1  # seconds
LARGEST_DATAGRAM = 1232  # for a larger response, the client has to ask again over TCP
LONGEST_CHAIN = 8


class NameServer:
    """Records by name and type. `questions` are the queries that came, as pairs such as ("shop.test", "A")."""

    def __init__(self, port: int) -> None:
        self.address = f"127.0.0.1:{port}"
        self.questions: list[tuple[str, str]] = []
        self._records: dict[tuple[str, str], list[list[str]]] = {}
        self._failing: dict[str, dns.rcode.Rcode | None] = {}
        self._lock = threading.Lock()

    def set(self, name: str, kind: str, *values: str) -> None:
        """Replace a name's records of a type (`A`, `AAAA`, `CNAME`, `TXT`); without values it has none.

        A TXT record is written as in a zone file: `"one string" "its second string"`. Quotes are added if it has none.
        """
        self.rotate(name, kind, values)

    def rotate(self, name: str, kind: str, *answers: Sequence[str]) -> None:
        """Respond to each query with the next of `answers`; the last one is repeated."""
        with self._lock:
            self._failing.pop(name, None)
            self._records[name, kind] = [[_written(kind, value) for value in answer] for answer in answers]

    def remove(self, name: str) -> None:
        """Remove a name: from now on it is NXDOMAIN."""
        with self._lock:
            self._failing.pop(name, None)
            self._records = {key: answers for key, answers in self._records.items() if key[0] != name}

    def fail(self, name: str, code: str = "SERVFAIL") -> None:
        """Respond to every query for a name with an error (`SERVFAIL`, `REFUSED`), until the name is set again."""
        self._failing[name] = dns.rcode.from_text(code)

    def fall_silent(self, name: str) -> None:
        """Do not respond to queries for a name, until it is set again."""
        self._failing[name] = None

    def answer(self, wire: bytes) -> dns.message.Message | None:
        """Return the response to a query in wire format, or None for no response."""
        query = dns.message.from_wire(wire)
        question = query.question[0]
        name = question.name.to_text(omit_final_dot=True).lower()
        kind = dns.rdatatype.to_text(question.rdtype)
        with self._lock:
            self.questions.append((name, kind))
            if name in self._failing:
                code = self._failing[name]
                return None if code is None else _response(query, code)
            response = _response(query, dns.rcode.NOERROR)
            self._fill(response, name, kind)
        return response

    def _fill(self, response: dns.message.Message, name: str, kind: str) -> None:
        """Add the records, and those of the names that CNAME records lead to."""
        for _ in range(LONGEST_CHAIN):
            target = self._next(name, "CNAME") if kind != "CNAME" else []
            if not target:
                break
            response.answer.append(dns.rrset.from_text(f"{name}.", TTL, "IN", "CNAME", f"{target[0]}."))
            name = target[0]
        if values := self._next(name, kind):
            response.answer.append(dns.rrset.from_text(f"{name}.", TTL, "IN", kind, *values))
        if not any(known == name for known, _ in self._records):
            response.set_rcode(dns.rcode.NXDOMAIN)

    def _next(self, name: str, kind: str) -> list[str]:
        answers = self._records.get((name, kind), [[]])
        return answers.pop(0) if len(answers) > 1 else answers[0]


@contextlib.contextmanager
def serve() -> Iterator[NameServer]:
    """Yield a running name server; it ends with the block."""
    streams, datagrams = _both()
    server = NameServer(streams.server_address[1])
    with streams, datagrams:
        for each in (streams, datagrams):
            each.names = server
            threading.Thread(target=each.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            streams.shutdown()
            datagrams.shutdown()


def _both() -> "tuple[_Streams, _Datagrams]":
    """Return a TCP server and a UDP server on the same port."""
    for _ in range(10):
        streams = _Streams(("127.0.0.1", 0), _OfStream)
        try:
            return streams, _Datagrams(("127.0.0.1", streams.server_address[1]), _OfDatagram)
        except OSError:
            streams.server_close()
    raise RuntimeError("no port is free for both UDP and TCP")


def _written(kind: str, value: str) -> str:
    return f'"{value}"' if kind == "TXT" and not value.startswith('"') else value


def _response(query: dns.message.Message, code: dns.rcode.Rcode) -> dns.message.Message:
    response = dns.message.make_response(query, recursion_available=True)
    response.flags |= dns.flags.AA
    response.set_rcode(code)
    return response


class _Datagrams(socketserver.ThreadingUDPServer):
    daemon_threads = True
    block_on_close = False
    names: NameServer


class _Streams(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    names: NameServer


class _OfDatagram(socketserver.BaseRequestHandler):
    server: _Datagrams
    request: tuple[bytes, socket.socket]

    def handle(self) -> None:
        wire, sender = self.request
        response = self.server.names.answer(wire)
        if response is None:
            return
        whole = response.to_wire()
        if len(whole) > LARGEST_DATAGRAM:
            response.answer.clear()
            response.flags |= dns.flags.TC
            whole = response.to_wire()
        sender.sendto(whole, self.client_address)


class _OfStream(socketserver.StreamRequestHandler):
    server: _Streams

    def handle(self) -> None:
        while size := self.rfile.read(2):
            response = self.server.names.answer(self.rfile.read(struct.unpack("!H", size)[0]))
            if response is None:
                return
            whole = response.to_wire(max_size=65_535)
            self.wfile.write(struct.pack("!H", len(whole)) + whole)
