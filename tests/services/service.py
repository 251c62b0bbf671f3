"""The service as an operator runs it: `manage.py serve` with a separate data folder and database.

A test declares the people and apps that it needs with `provision`, and reads the service's mails from the data folder.
Several test modules share one service, so each uses different names for people and projects.
"""

import contextlib
import email
import email.policy
import json
import os
import re
import secrets
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from tests.services import keeper, migrated, plugin
from tests.services.commands import Commands

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 120
STOP_SECONDS = 10
# In an email, the code is on a separate, indented line.
CODE = re.compile(r"^ {4}(\S+)$", re.MULTILINE)
# Loaded once, because loading them in each client would take longer than a request.
CERTIFICATES = ssl.create_default_context()
# Stops the service when the tests have ended, even if they were killed: then standard input is closed.
GUARD = "import os, signal, sys; sys.stdin.read(); os.kill(int(sys.argv[1]), signal.SIGTERM)"

# For tests of what happens while passwords are hashed.
SLOW_HASHES = {"DJANGO_SETTINGS_MODULE": "devportal.settings"}


class NotProvisionedError(Exception):
    """`manage.py provision` rejected the file; the message is its output."""


@dataclass
class Service:
    """A service on a loopback port, running or stopped; its data is kept for the next start."""

    home: Path
    settings: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=keeper.free_port)
    source: Path = ROOT  # the folder with the source that it runs
    files: tuple[int, ...] = ()  # open files that it inherits
    process: "subprocess.Popen[bytes] | None" = None
    _guard: "subprocess.Popen[bytes] | None" = None
    _commands: Commands | None = None
    _files: int = 0

    @property
    def address(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def command(self) -> list[str]:
        return [sys.executable, "manage.py", "serve"]

    @property
    def issuer(self) -> str:
        return f"{self.address}/"

    @property
    def log(self) -> Path:
        return self.home / "log"

    def client(self, timeout: float = 20) -> httpx.Client:
        """Return an HTTP client of the service, with separate cookies."""
        return httpx.Client(base_url=self.address, timeout=timeout, verify=CERTIFICATES)

    def discovery(self) -> dict[str, Any]:
        """Return the discovery document."""
        with self.client() as client:
            document: dict[str, Any] = client.get("/.well-known/openid-configuration").json()
        return document

    def owns(self, url: str) -> bool:
        """Return whether a URL belongs to the service."""
        return urlsplit(url).netloc == urlsplit(self.address).netloc

    # --- Data ---

    def provision(self, **sections: list[dict[str, Any]]) -> dict[str, Any]:
        """Declare people and projects, and return the output of `manage.py provision --json`."""
        self._files += 1
        file = self.home / f"declared-{self._files}.toml"
        file.write_text(as_toml(sections), encoding="utf-8")
        done = self.run("provision", str(file), "--json")
        if done.returncode:
            raise NotProvisionedError(done.stderr[-2000:])
        declared: dict[str, Any] = json.loads(done.stdout)
        return declared

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a management command, and return its exit code and output."""
        environment = self.environment()
        if self._commands is None or self._commands.environment != environment:
            self._end_commands()
            self._commands = Commands(self.source, environment)
        return self._commands.run(*command)

    def manage(self, *command: str) -> str:
        """Run a management command, which has to succeed, and return its output."""
        done = self.run(*command)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def shell(self, code: str) -> str:
        """Run code in the service's Django shell, as an operator would, and return its output."""
        return self.manage("shell", "-v0", "-c", code)

    def _end_commands(self) -> None:
        if self._commands is not None:
            self._commands.close()
            self._commands = None

    def mails(self, address: str) -> list[str]:
        """Return the texts of the emails to an email address, the oldest first."""
        texts = []
        for file in sorted((self.home / "mail").glob("*.eml")):
            message = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
            body = message.get_body(("plain",))
            if address in str(message["To"]) and body is not None:
                texts.append(str(body.get_content()))
        return texts

    def code_mailed_to(self, address: str) -> str:
        """Return the newest code that was mailed to an email address."""
        codes: list[str] = [code for text in self.mails(address) for code in CODE.findall(text)]
        assert codes, f"no code was mailed to {address}"
        return codes[-1]

    # --- Starting and stopping ---

    def start(self) -> None:
        """Start the service, and wait until it responds. Raises NotStartedError if it does not."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.source,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C in the terminal must not reach the service: the tests stop it themselves.
                start_new_session=True,
                pass_fds=self.files,
            )
        command = [sys.executable, "-I", "-S", "-c", GUARD, str(self.process.pid)]
        self._guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        deadline = time.monotonic() + READY_SECONDS
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise keeper.NotStartedError(self.logged()[-2000:])
            time.sleep(0.1)

    def answers(self) -> bool:
        """Return whether its discovery document can be read."""
        try:
            return bool(self.discovery())
        except (httpx.TransportError, json.JSONDecodeError):
            return False

    def stop(self, how: signal.Signals = signal.SIGTERM, seconds: float = STOP_SECONDS) -> int:
        """Send a signal to the service and return its exit code. Raises TimeoutExpired if it does not end in time."""
        assert self.process is not None
        self._release_guard()
        self.process.send_signal(how)
        return self.process.wait(seconds)

    def end(self) -> None:
        """Leave nothing running, whatever happened before."""
        self._end_commands()
        if self.process is not None and self.process.poll() is None:
            self._release_guard()
            self.process.kill()
            self.process.wait()
        self._release_guard()

    def logged(self) -> str:
        """Return all that it has printed."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def _release_guard(self) -> None:
        # The guard is killed first, because it would stop the service when its input is closed.
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
            self._guard = None

    def environment(self) -> dict[str, str]:
        """Return the environment of its processes."""
        # pytest changes PYTEST_CURRENT_TEST for each test, and `run` would then start a new process.
        left_out = {*plugin.SETTINGS, "PYTEST_CURRENT_TEST"}
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        kept["DJANGO_SETTINGS_MODULE"] = "tests.services.settings" if self.source == ROOT else "devportal.settings"
        return kept | {"PORT": str(self.port), "DATA_DIR": str(self.home)} | self.settings


def fresh(**settings: str) -> contextlib.AbstractContextManager[Service]:
    """Yield a service that was never started, on the engine of the test run, and remove it at the end.

    On PostgreSQL its database is already migrated, because migrating takes longer than everything else.
    """
    return _on(own_database(), settings)


def unmigrated(**settings: str) -> contextlib.AbstractContextManager[Service]:
    """Yield a service that was never started, on an empty database."""
    return _on(own_database(empty=True), settings)


@contextlib.contextmanager
def _on(own: contextlib.AbstractContextManager[dict[str, str]], settings: dict[str, str]) -> Iterator[Service]:
    with keeper.folder() as home, own as database:
        service = Service(home, database | settings)
        try:
            yield service
        finally:
            service.end()


@contextlib.contextmanager
def running(**settings: str) -> Iterator[Service]:
    """Yield a running service. At the end, it has to stop on request, and its log must contain no traceback."""
    with fresh(**settings) as service:
        service.start()
        yield service
        exit_code = service.stop()
        assert exit_code == 0, service.logged()[-2000:]
        assert "Traceback" not in service.logged(), service.logged()[-6000:]


@pytest.fixture(scope="session")
def live_service() -> Iterator[Service]:
    """A running service, shared by the tests of a folder."""
    with running() as service:
        yield service


@contextlib.contextmanager
def own_database(*, empty: bool = False) -> Iterator[dict[str, str]]:
    """Yield the setting for a new database on the tests' PostgreSQL, migrated or `empty`; no setting on SQLite."""
    server = os.environ.get("DATABASE_URL")
    if server is None:
        yield {}
        return
    base = server.rpartition("/")[0]
    name = f"live_{secrets.token_hex(6)}"
    with psycopg.connect(f"{base}/postgres", autocommit=True) as connection:
        template = "template1" if empty else migrated.template_on(connection)
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        try:
            yield {"DATABASE_URL": f"{base}/{name}"}
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def as_toml(sections: dict[str, list[dict[str, Any]]], above: str = "") -> str:
    """Return lists of tables as TOML. Values may be texts, numbers, booleans, times, lists and tables."""
    lines = []
    for name, tables in sections.items():
        for table in tables:
            nested = {key: value for key, value in table.items() if _holds_tables(value)}
            plain = {key: value for key, value in table.items() if key not in nested}
            lines.append(f"[[{above}{name}]]")
            lines += [f"{key} = {_as_toml(value)}" for key, value in plain.items()]
            lines.append(as_toml(nested, f"{above}{name}."))
    return "\n".join(lines)


def _as_toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_as_toml(held)}" for key, held in value.items()) + "}"
    if isinstance(value, datetime):
        return value.isoformat()
    return json.dumps(value)  # strings, lists of strings, numbers and booleans are the same in TOML and JSON


def _holds_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)
