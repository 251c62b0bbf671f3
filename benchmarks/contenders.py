"""Contenders of the benchmark: clients of servers that are prepared once and started any number of times."""

import base64
import contextlib
import hashlib
import json
import os
import secrets
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg

from benchmarks import processes
from benchmarks.interpreters import ROOT, Python
from tests.services import plugin

REDIRECT_URI = "https://app.example.com/callback"
CONNECTIONS = 8
# Exchanged at each start, for the first tokens of each connection.
CODES_AT_START = 2 * CONNECTIONS
# Limits higher than any run reaches: the benchmark measures the work of a request, not the response of a rate limit.
LIMITS = ("CLIENT_REQUESTS_PER_MINUTE", "API_CALLS_PER_MINUTE", "API_CALLS_PER_PERSON_PER_MINUTE")
UNLIMITED = dict.fromkeys(LIMITS, str(10**7))  # the highest value that the settings accept
OF_ALL = frozenset({"refresh", "exchange", "userinfo", "discovery", "jwks"})


@dataclass
class Paths:
    """Where a contender has its endpoints. Only the service has `me` and the ones after it."""

    token: str
    userinfo: str
    discovery: str
    jwks: str
    me: str | None = None
    introspection: str = ""
    forward_auth: str = ""


@dataclass
class Server:
    """How a server is started. `pid` is that of its last start, `runs_on` the version and build of its runtime."""

    command: list[str]
    folder: Path
    env: dict[str, str]
    port: int
    ready: str
    log: Path
    runs_on: str
    pid: int = 0

    @contextlib.contextmanager
    def running(self, core: int | None) -> Iterator[None]:
        """Run the server until the end of the block. Raises NotReady."""
        with processes.server(
            self.command,
            folder=self.folder,
            env=self.env,
            core=core,
            ready=f"http://127.0.0.1:{self.port}{self.ready}",
            log=self.log,
        ) as self.pid:
            yield


@dataclass
class Contender:
    """One client of one server."""

    name: str
    server: Server
    paths: Paths
    basic: str
    codes: list[str]
    form: dict[str, str]
    operations: frozenset[str] = OF_ALL
    api_basic: str = ""  # the credential of an API
    api_tokens: list[str] = field(default_factory=list)
    refresh_tokens: list[str] = field(default_factory=list)
    access_tokens: list[str] = field(default_factory=list)

    def take_tokens(self) -> None:
        """Exchange codes for the first tokens of each connection.

        Access tokens come from separate authorizations, because a refresh may revoke the earlier access token.
        """
        self.refresh_tokens = [self._exchange()["refresh_token"] for _ in range(CONNECTIONS)]
        self.access_tokens = [self._exchange()["access_token"] for _ in range(CONNECTIONS)]

    def _exchange(self) -> dict[str, str]:
        form = self.form | {"grant_type": "authorization_code", "code": self.codes.pop()}
        address = f"http://127.0.0.1:{self.server.port}{self.paths.token}"
        request = urllib.request.Request(address, urlencode(form).encode(), {"Authorization": self.basic})
        with urllib.request.urlopen(request) as response:
            answer: dict[str, str] = json.load(response)
        if "id_token" not in answer:
            raise processes.NotReady(f"{self.name} gives no ID token")
        return answer


@contextlib.contextmanager
def running(measured: Sequence[Contender], core: int | None) -> Iterator[None]:
    """Run the servers of all contenders until the end of the block, and give each contender new tokens."""
    with contextlib.ExitStack() as stack:
        for server in {id(one.server): one.server for one in measured}.values():
            stack.enter_context(server.running(core))
        for one in measured:
            one.take_tokens()
        yield


@dataclass
class Place:
    """What all contenders share: a folder to write in, PostgreSQL, Redis, and the Python for the ones that need it.

    `codes` is the number of codes created in advance for each contender, for all `starts` together. `rows` is the
    number of tokens of the grown one.
    """

    folder: Path
    postgres_url: str
    redis_url: str
    python: Python
    codes: int = CODES_AT_START
    starts: int = 1
    rows: int = 0
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def challenge(self) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()

    @property
    def asked(self) -> dict[str, Any]:
        """The input of the scripts that prepare a server."""
        return {
            "redirect_uri": REDIRECT_URI,
            "code_challenge": self.challenge,
            "codes": self.codes,
            "connections": CONNECTIONS,
            "codes_at_start": self.starts * CODES_AT_START,
        }

    @property
    def form(self) -> dict[str, str]:
        return {"redirect_uri": REDIRECT_URI, "code_verifier": self.verifier}

    def database(self, name: str) -> str:
        """Create a database and return its URL."""
        server = self.postgres_url.rpartition("/")[0]
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return f"{server}/{name}"

    def redis(self, number: int) -> str:
        return f"{self.redis_url.rpartition('/')[0]}/{number}"


def environment(folder: Path = ROOT, **own: str) -> dict[str, str]:
    """Return the environment for code in `folder`: this one, without settings of the service, and with `own`."""
    left_out = {*plugin.SETTINGS, "DATA_DIR", "DJANGO_SETTINGS_MODULE"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return kept | {"PYTHONPATH": str(folder)} | own


def basic(client_id: str, secret: str) -> str:
    """Return an Authorization header; the ids and secrets here need no escaping."""
    return f"Basic {base64.b64encode(f'{client_id}:{secret}'.encode()).decode()}"


def output(command: list[str], folder: Path, env: dict[str, str], asked: dict[str, Any] | None = None) -> Any:
    """Run a script that prepares a server, and return the JSON that it prints. Raises NotReady."""
    given = json.dumps(asked or {})
    done = subprocess.run(command, cwd=folder, env=env, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise processes.NotReady(done.stderr[-3000:])
    return json.loads(done.stdout)
