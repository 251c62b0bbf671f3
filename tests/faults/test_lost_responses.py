"""Answers to refreshes that a proxy drops, after the service has answered: nobody has to sign in again.

The ledger: what the proxy dropped is dead afterwards, and each app has the one pair that lives.
"""

import json
import random
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from core.credentials import random_text
from tests.clients.person import PASSWORD, Person
from tests.relying_party import challenge_of
from tests.services.service import Service, running

pytestmark = pytest.mark.slow

CLIENTS, REFRESHES = 20, 6
DROPPED = 0.4  # of all answers
ADA, CALLBACK = "ada@example.com", "https://orbit.example.com/callback"
SETTINGS = {
    "REFRESH_GRACE_SECONDS": "30",
    "CLIENT_REQUESTS_PER_MINUTE": "1000000",
    "FAILURES_PER_MINUTE": "100000",
    "API_GUESSES_PER_MINUTE": "100000",
    "API_CALLS_PER_MINUTE": "1000000",
    "API_CALLS_PER_PERSON_PER_MINUTE": "100000",
}


class Dropper(socketserver.ThreadingTCPServer):
    """A proxy that passes on a request and reads the answer to its end; then it passes that on, or hangs up."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, service: Service) -> None:
        super().__init__(("127.0.0.1", 0), Passing)
        self.to = ("127.0.0.1", service.port)
        self.passed = 0
        self.dropped: list[dict[str, Any]] = []
        self._chance, self._lock = random.Random(14), threading.Lock()

    def drops(self, answer: bytes) -> bool:
        with self._lock:
            if self._chance.random() >= DROPPED:
                self.passed += 1
                return False
            self.dropped.append(json.loads(answer.partition(b"\r\n\r\n")[2]))
            return True


class Passing(socketserver.BaseRequestHandler):
    """One request, on a separate connection."""

    def handle(self) -> None:
        assert isinstance(self.server, Dropper)
        with socket.create_connection(self.server.to, timeout=20) as behind:
            behind.sendall(whole(self.request))
            answer = whole(behind)
        if not self.server.drops(answer):
            self.request.sendall(answer)


def whole(connection: socket.socket) -> bytes:
    """Return a request or an answer, head and body."""
    received = b""
    while True:
        head, end, body = received.partition(b"\r\n\r\n")
        if end and len(body) >= length_in(head):
            return received
        part = connection.recv(65536)
        if not part:
            return received
        received += part


def length_in(head: bytes) -> int:
    lines = (line.partition(b":") for line in head.lower().split(b"\r\n"))
    return next((int(value) for name, _, value in lines if name == b"content-length"), 0)


@contextmanager
def dropper(service: Service) -> Iterator[Dropper]:
    with Dropper(service) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield proxy
        proxy.shutdown()


class App:
    """An app that refreshes over the proxy, and sends the same again when it hears nothing."""

    http = httpx.Client(timeout=20, headers={"Connection": "close"})  # one for all: making one takes long

    def __init__(self, service: Service, person: Person, client_id: str, proxy: Dropper) -> None:
        self.service, self.client_id = service, client_id
        self.proxy = f"http://localhost:{proxy.server_address[1]}/connect/token"
        self.retries = self.signed_out = 0
        verifier = random_text(64)
        request = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": CALLBACK,
            "scope": "openid email offline_access",
            "state": "s",
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }
        back = person.go(f"{service.address}/connect/authorize?{urlencode(request)}")
        (code,) = parse_qs(urlsplit(back).query)["code"]
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "code_verifier": verifier}
        response = self.http.post(f"{service.address}/connect/token", data=form | {"client_id": client_id})
        self.tokens: dict[str, Any] = response.json()

    def run(self) -> None:
        for number in range(REFRESHES):
            answer = self.refresh()
            if answer.status_code != 200:
                self.signed_out += 1
                return
            self.tokens = answer.json()
            if number % 2:  # some apps use an access token before they refresh again, some don't
                assert self.calls(self.tokens) == 200

    def refresh(self) -> httpx.Response:
        form = {"grant_type": "refresh_token", "refresh_token": self.tokens["refresh_token"]}
        headers = {"Host": f"localhost:{self.service.port}"}
        while True:
            try:
                return self.http.post(self.proxy, data=form | {"client_id": self.client_id}, headers=headers)
            except httpx.TransportError:
                self.retries += 1
                time.sleep(0.05)

    def calls(self, tokens: dict[str, Any]) -> int:
        bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
        return self.http.get(f"{self.service.address}/v1/me", headers=bearer).status_code


def test_with_a_grace_nobody_signs_in_again() -> None:
    with running(**SETTINGS) as service, dropper(service) as proxy:
        app = {"name": "Orbit", "type": "spa", "redirect_uris": [CALLBACK]}
        declared = service.provision(
            people=[{"email": ADA, "password": PASSWORD, "given_name": "Ada"}],
            projects=[{"name": "Orbit", "owner": ADA, "clients": [app]}],
        )
        client_id = declared["projects"][0]["clients"][0]["client_id"]
        person = Person(service, ADA)
        apps = [App(service, person, client_id, proxy) for _ in range(CLIENTS)]
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(App.run, apps))
        assert sum(one.signed_out for one in apps) == 0
        assert sum(one.retries for one in apps) == len(proxy.dropped) > CLIENTS
        assert proxy.passed == CLIENTS * REFRESHES
        # An answer that was dropped is dead, its access token too; the one that arrived in its place lives.
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(apps[0].calls, proxy.dropped)) == {401}
            assert set(pool.map(lambda one: one.calls(one.tokens), apps)) == {200}
            assert {one.refresh().status_code for one in apps} == {200}
