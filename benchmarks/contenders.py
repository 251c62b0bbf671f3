"""What is measured: clients of servers that were prepared once, and are started as often as is wanted."""

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
# For the tokens that the connections begin with.
CODES_AT_START = 2 * CONNECTIONS
# More than any run sends: what is measured is the work of a request, and not the answer of a limit.
LIMITS = ("CLIENT_REQUESTS_PER_MINUTE", "API_CALLS_PER_MINUTE", "API_CALLS_PER_PERSON_PER_MINUTE")
UNLIMITED = dict.fromkeys(LIMITS, str(10**7))  # the most that a setting may say
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
    """How a server is started; `pid` is that of its last start, `runs_on` the version and build of what runs it."""

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
        """Run it until the end of the block. Raises NotReady."""
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
        """Exchange codes for what the connections go on with.

        Access tokens come from separate authorizations: a refresh may end the access token before it.
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
    """Run the servers of all contenders, each with new tokens in hand, until the end of the block."""
    with contextlib.ExitStack() as stack:
        for server in {id(one.server): one.server for one in measured}.values():
            stack.enter_context(server.running(core))
        for one in measured:
            one.take_tokens()
        yield


@dataclass
class Place:
    """What all contenders share: where they may write, what they store in, and which Python runs them if they need one.

    `codes` is how many codes each one gets ahead, for all `starts` together; `rows` how many tokens the grown one has.
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
        """What the scripts that prepare are asked for."""
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
        """Make a database and return its address."""
        server = self.postgres_url.rpartition("/")[0]
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return f"{server}/{name}"

    def redis(self, number: int) -> str:
        return f"{self.redis_url.rpartition('/')[0]}/{number}"


def environment(folder: Path = ROOT, **own: str) -> dict[str, str]:
    """Return this environment without what would configure the service, for code in `folder`, and with `own`."""
    left_out = {*plugin.SETTINGS, "DATA_DIR", "DJANGO_SETTINGS_MODULE"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return kept | {"PYTHONPATH": str(folder)} | own


def basic(client_id: str, secret: str) -> str:
    """Return an Authorization header; the ids and secrets here need no escaping."""
    return f"Basic {base64.b64encode(f'{client_id}:{secret}'.encode()).decode()}"


def output(command: list[str], folder: Path, env: dict[str, str], asked: dict[str, Any] | None = None) -> Any:
    """Run a script that prepares, and return what it prints as JSON. Raises NotReady."""
    given = json.dumps(asked or {})
    done = subprocess.run(command, cwd=folder, env=env, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise processes.NotReady(done.stderr[-3000:])
    return json.loads(done.stdout)
