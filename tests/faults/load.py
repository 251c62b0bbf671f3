"""A load of apps, and a ledger of everything that the service has acknowledged to them.

If a request gets no response or a 5xx, the app does not know whether it took effect, and signs in again. Everything
that was acknowledged must still be in the database afterwards, whatever happened in between.
"""

import contextlib
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from core.credentials import random_text
from tests.clients.person import PASSWORD, Person
from tests.faults.engines import Postgres
from tests.faults.rig import ProductionService
from tests.relying_party import authorization_request, code_exchange

logging.getLogger("httpx").setLevel(logging.WARNING)  # pytest would store a line for each request

CALLBACK = "https://orbit.example.com/callback"
PROBED = ("/health/live", "/.well-known/openid-configuration", "/.well-known/jwks")


@dataclass(frozen=True)
class Observed:
    """One request: its start (time.monotonic), its duration, and its outcome: a status, or the name of an error."""

    name: str
    began: float
    seconds: float
    outcome: str


@dataclass
class Ledger:
    """Everything that was acknowledged, and the outcome of each request."""

    requests: list[Observed] = field(default_factory=list)
    access_tokens: list[str] = field(default_factory=list)  # all that were issued
    superseded: list[str] = field(default_factory=list)  # refresh tokens whose successor was issued
    current: set[str] = field(default_factory=set)  # refresh tokens that were not used since
    revoked: list[tuple[str, str]] = field(default_factory=list)  # access and refresh tokens, revocation acknowledged
    uncertain: set[str] = field(default_factory=set)  # access tokens whose revocation got no response
    refused: list[str] = field(default_factory=list)  # requests that were refused, but should have been accepted
    calls: int = 0  # calls of /v1/me that returned 200

    def observe(self, name: str, send: Callable[[], httpx.Response]) -> httpx.Response | None:
        """Send a request, note it, and return the response; None if there was no complete response."""
        began = time.monotonic()
        try:
            response = send()
        except httpx.TransportError as error:
            self.requests.append(Observed(name, began, time.monotonic() - began, type(error).__name__))
            return None
        self.requests.append(Observed(name, began, time.monotonic() - began, str(response.status_code)))
        return response

    def slowest(self, *names: str, since: float = 0) -> float:
        """Return the longest duration of the requests with these names, or of all requests."""
        return max((one.seconds for one in self._of(names, since)), default=0)

    def percentile(self, share: float, *names: str, since: float = 0) -> float:
        """Return the time within which this share of the requests (0 to 1) got a response."""
        times = sorted(one.seconds for one in self._of(names, since))
        return times[min(int(share * len(times)), len(times) - 1)]

    def outcomes(self, *names: str, since: float = 0) -> set[str]:
        return {one.outcome for one in self._of(names, since)}

    def _of(self, names: Iterable[str], since: float) -> list[Observed]:
        return [one for one in self.requests if one.began >= since and (not names or one.name in names)]

    def difference(self, database: Postgres) -> list[str]:
        """Return the differences between what was acknowledged and the database. The list should be empty."""
        sql = (
            "SELECT a.token_checksum, f.revoked_at IS NOT NULL FROM oidc_accesstoken a "
            "JOIN oidc_family f ON f.id = a.family_id"
        )
        access = dict(database.execute(sql))
        refresh = dict(database.execute("SELECT token_checksum, revoked IS NOT NULL FROM oidc_refreshtoken"))
        ended = {_checksum(token) for pair in self.revoked for token in pair}
        wrong = [f"refused: {text}" for text in self.refused]
        for token in self.access_tokens:
            checksum = _checksum(token)
            if checksum not in access:
                wrong.append("an access token is lost")
            elif token not in self.uncertain and access[checksum] != (checksum in ended):
                wrong.append("an access token lives that was revoked, or the other way round")
        wrong += [
            "a superseded refresh token is live" for one in self.superseded if refresh.get(_checksum(one)) is False
        ]
        wrong += ["a current refresh token is lost" for one in self.current if refresh.get(_checksum(one)) is not False]
        return wrong


def _checksum(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Noted(httpx.BaseTransport):
    """Passes requests on, and notes the outcome of each."""

    def __init__(self, transport: httpx.BaseTransport, ledger: Ledger) -> None:
        self._transport = transport
        self._ledger = ledger

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._ledger.observe(request.url.path, lambda: self._transport.handle_request(request))
        if response is None:
            raise httpx.TransportError(f"{request.url.path}: no answer", request=request)
        return response


@dataclass
class App:
    """An app with one person's browser. It signs in, calls `/v1/me`, refreshes, and sometimes revokes its tokens."""

    ledger: Ledger
    service: ProductionService
    client_id: str
    person: Person
    pause: float = 0.05
    pages: Ledger = field(default_factory=Ledger)
    http: httpx.Client = field(init=False)
    _family: list[str] = field(default_factory=list)  # all access tokens since the sign-in; they are revoked together

    def __post_init__(self) -> None:
        self.http = self.service.client()
        noted = Noted(self.service.transport(), self.pages)
        self.person.browser = httpx.Client(transport=noted, base_url=self.service.address, timeout=20)

    def run(self, over: threading.Event) -> None:
        rounds = 0
        tokens: dict[str, Any] | None = None
        while not over.is_set():
            try:
                tokens = tokens or self.sign_in()
            except (httpx.TransportError, AssertionError):  # an error page, or no response
                over.wait(0.2)
                continue
            if tokens:
                self.call(tokens["access_token"])
                tokens = self.refresh(tokens)
            rounds += 1
            if tokens and rounds % 10 == 0:
                self.revoke(tokens)
                tokens = None
            over.wait(self.pause)

    def sign_in(self) -> dict[str, Any] | None:
        verifier = random_text(64)
        request = authorization_request(self.client_id, CALLBACK, verifier)
        back = self.person.go(f"{self.service.address}/connect/authorize?{urlencode(request)}")
        answer = parse_qs(urlsplit(back).query)
        assert "code" in answer, answer
        (code,) = answer["code"]
        return self._tokens("exchange", code_exchange(code, CALLBACK, verifier), None)

    def call(self, token: str) -> None:
        response = self._observe("/v1/me", "GET", "/v1/me", headers={"Authorization": f"Bearer {token}"})
        if response is None or response.status_code >= 500:
            return
        if response.status_code == 200:
            self.ledger.calls += 1
        else:
            self.ledger.refused.append(f"/v1/me: {response.status_code} {response.text}")

    def refresh(self, tokens: dict[str, Any]) -> dict[str, Any] | None:
        form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        return self._tokens("refresh", form, tokens["refresh_token"])

    def revoke(self, tokens: dict[str, Any]) -> None:
        old = tokens["refresh_token"]
        self.ledger.current.discard(old)
        response = self._observe("revoke", "POST", "/connect/revoke", data={"token": old, "client_id": self.client_id})
        if response is not None and response.status_code == 200:
            self.ledger.revoked += [(token, old) for token in self._family]
        else:
            # The revocation may have taken effect or not, so these tokens are not checked.
            self.ledger.uncertain.update(self._family)

    def _tokens(self, name: str, form: dict[str, str], old: str | None) -> dict[str, Any] | None:
        self.ledger.current.discard(old or "")
        response = self._observe(name, "POST", "/connect/token", data=form | {"client_id": self.client_id})
        if response is None or response.status_code >= 500:
            return None
        if response.status_code != 200:
            self.ledger.refused.append(f"{name}: {response.status_code} {response.text}")
            return None
        tokens: dict[str, Any] = response.json()
        self._family = [*(self._family if old else ()), tokens["access_token"]]
        self.ledger.access_tokens.append(tokens["access_token"])
        self.ledger.current.add(tokens["refresh_token"])
        if old:
            self.ledger.superseded.append(old)
        return tokens

    def _observe(self, name: str, method: str, path: str, **given: Any) -> httpx.Response | None:
        return self.ledger.observe(name, lambda: self.http.request(method, path, **given))


@dataclass
class Load:
    """Running apps, and probes of endpoints that must always respond."""

    ledger: Ledger
    probes: Ledger
    pages: Ledger = field(default_factory=Ledger)  # requests of people's browsers
    over: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def begin(self, target: Callable[[threading.Event], None]) -> None:
        thread = threading.Thread(target=target, args=(self.over,), daemon=True)
        thread.start()
        self.threads.append(thread)

    def end(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(30)
            assert not thread.is_alive(), "an app still waits for an answer"

    def wait_until_back(self, seconds: float) -> float:
        """Wait until requests of each kind succeed again; return how long it took. Fails after `seconds`."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            if self._answer(self.ledger, ("/v1/me", "refresh"), began) and self._answer(self.probes, PROBED, began):
                return time.monotonic() - began
            time.sleep(0.05)
        seen = self.ledger.outcomes(since=began) | self.probes.outcomes(since=began)
        raise AssertionError(f"it is not back after {seconds} s: {seen}")

    @staticmethod
    def _answer(ledger: Ledger, names: Iterable[str], since: float) -> bool:
        return all("200" in ledger.outcomes(name, since=since) for name in names)


def declare(service: ProductionService, people: int) -> str:
    """Declare people `p0@example.com` and so on, and an app; return its client id."""
    declared = service.provision(
        people=[{"email": f"p{number}@example.com", "password": PASSWORD} for number in range(people)],
        projects=[
            {
                "name": "Orbit",
                "owner": "p0@example.com",
                "clients": [{"name": "Orbit", "type": "spa", "redirect_uris": [CALLBACK]}],
            }
        ],
    )
    client_id: str = declared["projects"][0]["clients"][0]["client_id"]
    return client_id


@contextlib.contextmanager
def load(service: ProductionService, client_id: str, apps: int = 4, pause: float = 0.05) -> Iterator[Load]:
    """Yield a running load, in which each app has signed in, and stop it at the end."""
    running = Load(Ledger(), Ledger())
    signed_in = []
    for number in range(apps):
        app = App(running.ledger, service, client_id, Person(service, f"p{number}@example.com"), pause, running.pages)
        signed_in.append(app)
    for app in signed_in:
        running.begin(app.run)
    for path in PROBED:
        running.begin(_probe(service, running.probes, path))
    try:
        deadline = time.monotonic() + 20
        while len(running.ledger.current) < apps and time.monotonic() < deadline:
            time.sleep(0.05)
        yield running
    finally:
        running.end()


def _probe(service: ProductionService, probes: Ledger, path: str) -> Callable[[threading.Event], None]:
    client = service.client()

    def probe(over: threading.Event) -> None:
        while not over.wait(0.1):
            probes.observe(path, lambda: client.get(path))

    return probe
