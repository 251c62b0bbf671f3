"""Web servers that share a port, as two units of systemd do, behind nginx: restarts and a frozen worker."""

import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx
import pytest

from tests.faults.load import Load, declare, load
from tests.faults.rig import ProductionService, rig
from tests.services import proxies
from tests.services.proxies import Proxy

pytestmark = [pytest.mark.slow, pytest.mark.redis, pytest.mark.postgres, pytest.mark.proxy]

APPS = 3
REPLACED_SECONDS = 40.0
# Passes a socket to a program as systemd does (sd_listen_fds(3)).
PASS = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass
class Server(ProductionService):
    """One unit portal-web@: it shares a listening socket, and tells when it is ready."""

    listener: socket.socket = field(kw_only=True)
    proxy: Proxy = field(kw_only=True)
    states: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.files = (self.listener.fileno(),)
        self.path = str(self.home / f"notify-{secrets.token_hex(4)}")
        self.states = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.states.bind(self.path)
        self.states.settimeout(2)

    @property
    def address(self) -> str:
        return self.proxy.address("auth")

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-I", "-S", "-c", PASS, str(self.files[0]), *super().command]

    def owns(self, url: str) -> bool:
        return urlsplit(url).netloc == urlsplit(self.address).netloc

    def transport(self, address: str = "192.0.2.1") -> httpx.BaseTransport:
        return self.proxy.transport(httpx.Limits(max_keepalive_connections=0))

    def environment(self) -> dict[str, str]:
        return super().environment() | {"NOTIFY_SOCKET": self.path}

    def answers(self) -> bool:
        return self.state() == "READY=1"

    def state(self) -> str:
        """Return the next state that it reports, an empty one after two seconds."""
        try:
            return self.states.recv(100).decode()
        except TimeoutError:
            return ""


@pytest.fixture(scope="module")
def servers() -> Iterator[list[Server]]:
    """Yield two running servers on one port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with proxies.nginx(port, {"rate=100r/s": "rate=10000r/s"}) as proxy:
            url = proxy.address("auth")
            with rig(start=False, AUTH_URL=url, BASE_URL=url, PORT=str(port)) as made:
                given = made.service
                pair = [
                    Server(given.home, dict(given.settings), port, workers=1, listener=listener, proxy=proxy)
                    for _ in range(2)
                ]
                try:
                    for server in pair:
                        server.start()
                    yield pair
                finally:
                    for server in pair:
                        server.end()


@pytest.fixture(scope="module")
def client_id(servers: list[Server]) -> str:
    return declare(servers[0], APPS)


def roll_out(servers: list[Server], **settings: str) -> None:
    """Restart one server after the other with other settings."""
    for server in servers:
        server.settings |= settings
        assert server.stop(seconds=30) == 0
        server.start()


def failures(running: Load, since: float = 0) -> list[str]:
    """Return the requests that were not answered as usual."""
    return [
        f"{one.name} at {one.began - since:.2f}: {one.outcome}"
        for ledger in (running.ledger, running.probes, running.pages)
        for one in ledger.requests
        if one.began >= since and one.outcome not in ("200", "302")
    ]


def test_a_deploy_a_rotation_of_all_keys_and_a_new_certificate_lose_no_request(
    servers: list[Server], client_id: str
) -> None:
    first = servers[0]
    secret, key = first.settings["SECRET_KEY"], first.settings["KEY_ENCRYPTION_KEY"]
    new_secret, new_key = secrets.token_urlsafe(48), secrets.token_urlsafe(48)
    with load(first, client_id, APPS, pause=0.2) as running:
        roll_out(
            servers, SERVICE_NAME="Another name", KEY_ENCRYPTION_KEY_FALLBACKS=new_key, SECRET_KEY_FALLBACKS=new_secret
        )
        with first.client() as client:
            assert "Another name" in client.get("/account/login/").text
        roll_out(
            servers,
            KEY_ENCRYPTION_KEY=new_key,
            KEY_ENCRYPTION_KEY_FALLBACKS=key,
            SECRET_KEY=new_secret,
            SECRET_KEY_FALLBACKS=secret,
        )
        first.manage("reencrypt")
        first.manage("reencrypt", "--check")
        os.kill(int((first.proxy.home / "pid").read_text()), signal.SIGHUP)
        roll_out(servers, KEY_ENCRYPTION_KEY_FALLBACKS="")
    assert failures(running) == []
    assert running.ledger.refused == []
    assert len([one for one in running.ledger.requests if one.name == "refresh"]) > 50


def test_a_frozen_worker_is_replaced(servers: list[Server], client_id: str) -> None:
    """Only requests fail that it had when it froze."""
    server = servers[0]
    (victim,) = server.worker_processes()
    with load(server, client_id, APPS) as running:
        os.kill(victim, signal.SIGSTOP)
        frozen_at = time.monotonic()
        while server.worker_processes() <= {victim}:
            assert time.monotonic() < frozen_at + REPLACED_SECONDS
            time.sleep(0.1)
        time.sleep(1)
    assert failures(running, since=frozen_at) == []
    assert len(server.worker_processes()) == 1
    assert "WATCHDOG=1" in {server.state() for _ in range(3)}
