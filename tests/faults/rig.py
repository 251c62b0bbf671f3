"""The service in its production environment, with a PostgreSQL and a Redis that only this test uses and may break.

The transport of the test's HTTP clients replaces the TLS proxy: it passes requests to the service's port as a proxy
does, with `Host`, `X-Forwarded-For` and `X-Forwarded-Proto`.
"""

import contextlib
import fcntl
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from tests.faults.engines import Postgres, Redis, children, own_postgres, own_redis
from tests.services import keeper
from tests.services.service import ROOT, SLOW_HASHES, Service

HOST = "auth.example.com"
# A file with the id of the test run that last collected the static files.
COLLECTED = ROOT / ".cache" / "static-collected"
# These limits protect from load, so a load test has to turn them off.
NO_LIMITS = {
    "CLIENT_REQUESTS_PER_MINUTE": "1000000",
    "FAILURES_PER_MINUTE": "100000",
    "API_CALLS_PER_MINUTE": "1000000",
    "API_CALLS_PER_PERSON_PER_MINUTE": "1000000",
    "API_GUESSES_PER_MINUTE": "100000",
    "SIGN_INS_PER_MINUTE": "10000",
    "FORMS_PER_ADDRESS_PER_MINUTE": "10000",
}


class Proxy(httpx.BaseTransport):
    """Passes requests to a port on the loopback address, as a TLS proxy does."""

    def __init__(self, port: int, address: str = "192.0.2.1", connections: int = 100) -> None:
        self._port = port
        self._address = address
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._transport = httpx.HTTPTransport(limits=limits)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = httpx.Headers({**request.headers, "X-Forwarded-For": self._address, "X-Forwarded-Proto": "https"})
        passed_on = httpx.Request(
            request.method,
            request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port),
            headers=headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return self._transport.handle_request(passed_on)

    def close(self) -> None:
        self._transport.close()


@dataclass
class ProductionService(Service):
    """The service as in production: several workers behind a proxy, and Celery."""

    workers: int = 2
    _others: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"https://{HOST}"

    @property
    def command(self) -> list[str]:
        return [sys.executable, "manage.py", "serve", "--workers", str(self.workers)]

    def client(self, timeout: float = 20, address: str = "192.0.2.1") -> httpx.Client:
        """Return an HTTP client whose requests come from this IP address, through the proxy."""
        return httpx.Client(transport=self.transport(address), base_url=self.address, timeout=timeout)

    def transport(self, address: str = "192.0.2.1") -> httpx.BaseTransport:
        """Return the proxy for requests from this IP address."""
        return Proxy(self.port, address)

    def owns(self, url: str) -> bool:
        return urlsplit(url).netloc == HOST

    def worker_processes(self) -> set[int]:
        """Return the ids of the processes that handle requests."""
        assert self.process is not None
        return set(children(self.process.pid))

    def start_celery(self, *arguments: str, program: str = "celery") -> "subprocess.Popen[bytes]":
        """Start a Celery process, such as `worker` or `beat`, that writes to the service's log; `end` stops it."""
        command = [sys.executable, "-m", program, "-A", "devportal", *arguments]
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._others.append(process)
        return process

    def end(self) -> None:
        for process in self._others:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        super().end()


@dataclass
class Rig:
    """A service and its engines."""

    service: ProductionService
    postgres: Postgres
    redis: Redis


@contextlib.contextmanager
def rig(
    *, start: bool = True, workers: int = 2, postgres: dict[str, str] | None = None, **settings: str
) -> Iterator[Rig]:
    """Yield a migrated production service with its servers, and remove everything at the end.

    With `start=False`, the service is not started. `postgres` has settings of the database server, `settings` those of
    the service.
    """
    with keeper.folder() as home, own_postgres(**postgres or {}) as database, own_redis() as counters:
        given = {
            "ENVIRONMENT": "production",
            "AUTH_URL": f"https://{HOST}",
            "BASE_URL": f"https://{HOST}",
            "TRUSTED_PROXIES": "127.0.0.1",
            "DATABASE_URL": database.url,
            "REDIS_URL": counters.url,
            "EMAIL_URL": f"smtp://127.0.0.1:{keeper.free_port()}",
            "SECRET_KEY": secrets.token_urlsafe(48),
            "KEY_ENCRYPTION_KEY": secrets.token_urlsafe(48),
            **NO_LIMITS,
            **SLOW_HASHES,
            **settings,
        }
        service = ProductionService(home, given, workers=workers)
        try:
            service.manage("migrate", "--verbosity", "0")  # only creates the first signing key
            _collect_static(service)
            if start:
                service.start()
            yield Rig(service, database, counters)
        finally:
            service.end()


def wait_until(what: Callable[[], bool], why: str, seconds: float = 60) -> None:
    """Wait until `what` returns True. Fails with `why` after `seconds`: the machine may be busy."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, why
        time.sleep(0.05)


def _collect_static(service: ProductionService) -> None:
    """Collect the static files once for each test run: the first process does it, and others wait."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    COLLECTED.parent.mkdir(exist_ok=True)
    with COLLECTED.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if file.read() != run:
            service.manage("collectstatic", "--noinput", "--verbosity", "0")
            file.truncate(0)
            file.write(run)
