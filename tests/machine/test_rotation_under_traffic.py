"""Signing keys change under traffic: two servers on one database, and apps that fetch keys only when they must.

Each app keeps the JWKS that it has, and fetches it again, from any server, when a token names a key that it does
not know. A check that fails even once is an app whose people could not sign in.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from threading import Event
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet

from core.credentials import random_text
from tests.clients.person import PASSWORD, Person
from tests.relying_party import challenge_of, claims_of, header_of
from tests.services.service import ROOT, Service, fresh

pytestmark = pytest.mark.slow

MOST_SECONDS = 180
THREADS = 4
CALLBACK = "https://orbit.example.com/callback"
# A key signs for 5 seconds, is published 4 ahead, and goes 16 after it was retired: 2 x 6 + 4.
SETTINGS = {
    "SIGNING_KEY_REFRESH_SECONDS": "1",
    "SIGNING_KEY_PUBLISH_AHEAD_SECONDS": "4",
    "SIGNING_KEY_LIFETIME_SECONDS": "5",
    "ACCESS_TOKEN_SECONDS": "6",
    "ID_TOKEN_SECONDS": "6",
    "CLIENT_REQUESTS_PER_MINUTE": "1000000",
    "API_CALLS_PER_MINUTE": "1000000",
    "API_CALLS_PER_PERSON_PER_MINUTE": "1000000",
}
# Takes the next step of rotation for each line that it reads, and says which it was.
ROTATOR = """
import sys, django
django.setup()
from oidc.tokens import signing_keys
for line in sys.stdin:
    print(signing_keys.rotate(), flush=True)
"""


@contextmanager
def two_servers() -> Iterator[tuple[Service, Service]]:
    """Yield two servers of one service: one database, one set of secrets, one issuer."""
    with fresh(**SETTINGS) as first:
        first.settings |= {"AUTH_URL": first.address, "BASE_URL": first.address}
        second = Service(first.home, first.settings)
        try:
            first.start()
            second.start()
            yield first, second
            assert (first.stop(), second.stop()) == (0, 0), first.logged()[-2000:]
            assert "Traceback" not in first.logged(), first.logged()[-6000:]
        finally:
            second.end()


@dataclass
class App:
    """An app with one person's browser: it signs in, refreshes, and checks everything it is given."""

    client_id: str
    person: Person
    addresses: Iterator[str]
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=20))
    known: dict[str, dict[str, Any]] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    kids: list[str] = field(default_factory=list)
    checks: int = 0

    def run(self, over: Event) -> None:
        while not over.is_set():
            tokens = self.sign_in()
            for _ in range(3):
                self.check(tokens)
                form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
                tokens = self.post(form | {"client_id": self.client_id})
            self.check(tokens)

    def sign_in(self) -> dict[str, Any]:
        verifier = random_text(64)
        request = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": CALLBACK,
            "scope": "openid email offline_access",
            "state": "s",
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }
        back = self.person.go(f"{self.person.service.address}/connect/authorize?{urlencode(request)}")
        (code,) = parse_qs(urlsplit(back).query)["code"]
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "code_verifier": verifier}
        return self.post(form | {"client_id": self.client_id})

    def post(self, form: dict[str, str]) -> dict[str, Any]:
        response = self.http.post(f"{next(self.addresses)}/connect/token", data=form)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    def check(self, tokens: dict[str, Any]) -> None:
        """Check signatures as an app does, and have each server check tokens: the newest, and the oldest alive."""
        for name in ("id_token", "access_token"):
            self.check_signature(tokens[name])
        self.kept = [token for token in self.kept if claims_of(token)["exp"] > time.time() + 2]
        self.kept.append(tokens["access_token"])
        for token, path in [(self.kept[-1], "/v1/me"), (self.kept[0], "/connect/userinfo"), (self.kept[0], "/v1/me")]:
            headers = {"Authorization": f"Bearer {token}"}
            response = self.http.get(f"{next(self.addresses)}{path}", headers=headers)
            assert response.status_code == 200, (response.text, header_of(token))
            self.checks += 1

    def check_signature(self, token: str) -> None:
        kid = header_of(token)["kid"]
        if kid not in self.known:
            jwks = self.http.get(f"{next(self.addresses)}/.well-known/jwks").json()
            self.known = {key["kid"]: key for key in jwks["keys"]}
            self.kids.append(kid)
        assert kid in self.known, (kid, sorted(self.known))
        jwt.decode(token, KeySet.import_key_set({"keys": [self.known[kid]]}), algorithms=["RS256"])
        self.checks += 1


def rotate(service: Service, over: Event) -> list[str]:
    """Do what the periodic task does, a few times a second; return the steps that were taken."""
    command = [sys.executable, "-c", ROTATOR]
    environment = service.environment()
    steps = []
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        while not over.is_set():
            process.stdin.write("\n")
            process.stdin.flush()
            steps.append(process.stdout.readline().strip())
            time.sleep(0.3)
    return [step for step in steps if step != "waiting"]


def test_no_check_fails_while_keys_rotate() -> None:
    with two_servers() as (first, second):
        people = [{"email": f"p{number}@example.com", "password": PASSWORD} for number in range(THREADS)]
        app = {"name": "Orbit", "type": "spa", "redirect_uris": [CALLBACK]}
        declared = first.provision(
            people=people, projects=[{"name": "Orbit", "owner": "p0@example.com", "clients": [app]}]
        )
        client_id = declared["projects"][0]["clients"][0]["client_id"]
        apps = [
            App(client_id, Person(first, person["email"]), cycle([first.address, behind(second), behind(second)]))
            for person in people
        ]
        over, before = Event(), published(behind(second))
        with ThreadPoolExecutor(THREADS + 1) as pool:
            rotating = pool.submit(rotate, first, over)
            running = [pool.submit(one.run, over) for one in apps]
            try:
                wait_until_gone(before, first, [rotating, *running])
            finally:
                over.set()
            for each in running:
                each.result()
            steps = rotating.result()
        assert steps.count("activated") >= 3, steps
        assert all(one.checks > 20 and len(one.kids) > 1 for one in apps), [(one.checks, one.kids) for one in apps]


def wait_until_gone(keys: set[str], service: Service, working: "Sequence[Future[Any]]") -> None:
    """Wait until a server publishes none of these keys any more, as long as everyone else is at work."""
    deadline = time.monotonic() + MOST_SECONDS
    while keys & published(service.address) and not any(one.done() for one in working):
        assert time.monotonic() < deadline, "the first key is still published"
        time.sleep(0.5)


def behind(service: Service) -> str:
    """Return where a server is reached whose port is not the one of the service's address."""
    return f"http://127.0.0.1:{service.port}"


def published(address: str) -> set[str]:
    """Return the ids of the keys that a server publishes now."""
    document = json.loads(httpx.get(f"{address}/.well-known/jwks").text)
    return {key["kid"] for key in document["keys"]}
