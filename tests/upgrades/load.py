"""A light load: apps that refresh their tokens and call the API, with a record of the responses."""

import threading
import time
from dataclasses import dataclass, field

import httpx

PAUSE = 0.05  # seconds between two requests of an app


@dataclass
class App:
    """One app's chain of refresh tokens: the newest and the previous one, and the number of responses."""

    family: int
    refresh_token: str
    before: str = ""
    refreshed: int = 0
    calls: int = 0


@dataclass
class Load:
    """Running apps, each in a thread. `faults` are responses other than 200; `slowest` is in seconds."""

    address: str
    client_id: str
    apps: list[App]
    slowest: float = 0.0
    requests: int = 0
    faults: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> "Load":
        self._threads = [threading.Thread(target=self._work, args=[app], daemon=True) for app in self.apps]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)

    def _work(self, app: App) -> None:
        with httpx.Client(base_url=self.address, timeout=30) as http:
            while not self._stop.wait(PAUSE) and not self.faults:
                try:
                    self.step(http, app)
                except (httpx.HTTPError, AssertionError) as error:
                    self.faults.append(repr(error))

    def step(self, http: httpx.Client, app: App) -> None:
        """Refresh once and call the API once. Raises AssertionError for any response other than 200."""
        answer = self._timed(http, "POST", "/connect/token", data=self.grant(app.refresh_token))
        tokens = answer.json()
        app.before, app.refresh_token = app.refresh_token, tokens["refresh_token"]
        app.refreshed += 1
        self._timed(http, "GET", "/v1/me", headers={"Authorization": f"Bearer {tokens['access_token']}"})
        app.calls += 1

    def grant(self, token: str) -> dict[str, str]:
        """Return the form of a refresh."""
        return {"grant_type": "refresh_token", "refresh_token": token, "client_id": self.client_id}

    def _timed(self, http: httpx.Client, method: str, path: str, **rest: object) -> httpx.Response:
        start = time.monotonic()
        answer = http.request(method, path, **rest)  # type: ignore[arg-type]
        self.slowest = max(self.slowest, time.monotonic() - start)
        self.requests += 1
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text[:500]}"
        return answer
