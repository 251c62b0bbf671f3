"""A public host on this machine: its name server, its web server with TLS, and the road between.

Nothing of the rules is weakened: names resolve to public addresses at the tests' own name server, and the one function
that opens connections (`core.outbound.fetching.dial`) leads those addresses to ports of this machine.
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
# For tests of what is slow. The others have SECONDS, so that a busy machine changes nothing.
SHORT = 0.7
OK = b"HTTP/1.1 200 OK\r\n"


@dataclass
class Rig:
    """The host; `dialled` holds the addresses and ports that connections were opened to, in order."""

    names: names.NameServer
    site: pages.Site
    authority: Authority
    _patch: pytest.MonkeyPatch
    roads: dict[tuple[str, int], int] = field(default_factory=dict)
    dialled: list[tuple[str, int]] = field(default_factory=list)

    def dial(self, address: str, port: int, seconds: float) -> httpcore.NetworkStream:
        """Connect to the port that stands for an address."""
        self.dialled.append((address, port))
        if (address, port) not in self.roads:
            raise httpcore.ConnectError("no road")
        return httpcore.SyncBackend().connect_tcp("127.0.0.1", self.roads[address, port], timeout=seconds)

    def lead_to(self, port: int) -> None:
        """Lead the public address to another port of this machine."""
        self.roads[PUBLIC, 443] = port

    @contextlib.contextmanager
    def hurry(self) -> Iterator[None]:
        """Give requests SHORT seconds, and see that they keep to them."""
        self._patch.setattr(limits, "SECONDS", SHORT)
        begun = time.monotonic()
        yield
        assert time.monotonic() - begun < SHORT + 1.5


def repeated(piece: bytes, *, first: bytes = b"", pause: float = 0.0) -> Callable[[BufferedIOBase], None]:
    """Return a script that writes the same over and over, until the other side has hung up."""

    def write(out: BufferedIOBase) -> None:
        out.write(first)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            out.write(piece)
            time.sleep(pause)

    return write


def written(whole: bytes) -> Callable[[BufferedIOBase], object]:
    """Return a script that writes this and hangs up."""
    return lambda out: out.write(whole)


def build(patch: pytest.MonkeyPatch, settings: Any, folder: Path) -> Iterator[Rig]:
    """Yield a rig; NAME leads to PUBLIC, and its certificate is believed."""
    authority = Authority()
    patch.setenv("SSL_CERT_FILE", authority.trust_file(folder))
    with names.serve() as name_server, pages.serve(authority.server_context(NAME)) as site:
        settings.DNS_SERVERS, settings.OUTBOUND_LOOPBACK_PORT = [name_server.address], 0
        rig = Rig(name_server, site, authority, patch)
        patch.setattr(fetching, "dial", rig.dial)
        rig.lead_to(site.port)
        name_server.set(NAME, "A", PUBLIC)
        yield rig


def kind_of(address: str) -> str:
    """Return the type of the record that holds an address."""
    return "AAAA" if ":" in address else "A"


def refused(url: str = URL) -> tuple[str, str]:
    """Ask an address that has to be refused; returns code and sentence."""
    with pytest.raises(outbound.OutboundRefused) as caught:
        outbound.fetch(url)
    return caught.value.code, str(caught.value)


def assert_refused(url: str, code: str, word: str) -> None:
    """Ask an address that has to be refused with this code, and this word in the sentence."""
    found, sentence = refused(url)
    assert (found, word in sentence) == (code, True), (found, sentence)
