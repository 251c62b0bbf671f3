"""A public host on this machine: its name server, its web server with TLS, and the connection to it.

All rules stay in force: the tests' own name server resolves names to public IP addresses, and the one function that
opens connections (`core.outbound.fetching.dial`) connects to ports of this machine for these IP addresses.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import httpcore
import pytest

from core import outbound
from core.outbound import fetching, limits
from tests.services import names, pages
from tests.services.certificates import Authority

NAME = "shop.test"
URL = f"https://{NAME}/"
PUBLIC = "93.184.216.34"
ALSO_PUBLIC = "2606:2800:220:1:248:1893:25c8:1946"
# The limit in tests of slow servers. Other tests have SECONDS, so that a busy machine makes no difference.
SHORT = 0.7
OK = b"HTTP/1.1 200 OK\r\n"


@dataclass
class Rig:
    """The host. `dialled` has the IP addresses and ports of all connections, in order."""

    names: names.NameServer
    site: pages.Site
    authority: Authority
    _patch: pytest.MonkeyPatch
    roads: dict[tuple[str, int], int] = field(default_factory=dict)
    dialled: list[tuple[str, int]] = field(default_factory=list)

    def dial(self, address: str, port: int, seconds: float) -> httpcore.NetworkStream:
        """Connect to the local port for a public IP address and port."""
        self.dialled.append((address, port))
        if (address, port) not in self.roads:
            raise httpcore.ConnectError("no road")
        return httpcore.SyncBackend().connect_tcp("127.0.0.1", self.roads[address, port], timeout=seconds)

    def lead_to(self, port: int) -> None:
        """Let connections to the public IP address go to another port of this machine."""
        self.roads[PUBLIC, 443] = port

    @contextlib.contextmanager
    def hurry(self) -> Iterator[None]:
        """Limit requests to SHORT seconds within the block, and check that the block does not take much longer."""
        self._patch.setattr(limits, "SECONDS", SHORT)
        started = time.monotonic()
        yield
        assert time.monotonic() - started < SHORT + 1.5


def repeated(piece: bytes, *, first: bytes = b"", pause: float = 0.0) -> Callable[[BufferedIOBase], None]:
    """Return a script that writes the same piece again and again, until the other side disconnects."""

    def write(out: BufferedIOBase) -> None:
        out.write(first)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            out.write(piece)
            time.sleep(pause)

    return write


def written(whole: bytes) -> Callable[[BufferedIOBase], object]:
    """Return a script that writes these bytes and disconnects."""
    return lambda out: out.write(whole)


def build(patch: pytest.MonkeyPatch, settings: Any, folder: Path) -> Iterator[Rig]:
    """Yield a rig in which NAME resolves to PUBLIC, and the host's certificate is trusted."""
    authority = Authority()
    patch.setenv("SSL_CERT_FILE", authority.trust_file(folder))
    patch.setattr(fetching, "_trust", fetching._trust.__wrapped__)  # which would keep the authorities of another test
    with names.serve() as name_server, pages.serve(authority.server_context(NAME)) as site:
        settings.DNS_SERVERS, settings.OUTBOUND_LOOPBACK_PORT = [name_server.address], 0
        rig = Rig(name_server, site, authority, patch)
        patch.setattr(fetching, "dial", rig.dial)
        rig.lead_to(site.port)
        name_server.set(NAME, "A", PUBLIC)
        yield rig


def kind_of(address: str) -> str:
    """Return the type of the DNS record for an IP address."""
    return "AAAA" if ":" in address else "A"


def refused(url: str = URL) -> tuple[str, str]:
    """Fetch a URL that has to be refused; return the code and the sentence."""
    with pytest.raises(outbound.OutboundRefused) as caught:
        outbound.fetch(url)
    return caught.value.code, str(caught.value)


def assert_refused(url: str, code: str, word: str) -> None:
    """Fetch a URL, and check that it is refused with this code, and with this word in the sentence."""
    found, sentence = refused(url)
    assert (found, word in sentence) == (code, True), (url, found, sentence)
