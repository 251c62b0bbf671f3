"""The three that are measured: each started on one core, with a client, codes, and tokens of its own."""

import base64
import contextlib
import hashlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwcrypto.jwk import JWK

from benchmarks import processes
from tests.services import keeper, plugin

ROOT = Path(__file__).resolve().parents[1]
NODE = Path(__file__).resolve().parent / "node"
REDIRECT_URI = "https://app.example.com/callback"
CONNECTIONS = 8
# For the tokens that the connections begin with.
CODES_AT_START = 2 * CONNECTIONS
# More than any run sends: what is measured is the work of a request, and not the answer of a limit.
LIMITS = ("CLIENT_REQUESTS_PER_MINUTE", "API_CALLS_PER_MINUTE", "API_CALLS_PER_PERSON_PER_MINUTE")
UNLIMITED = dict.fromkeys(LIMITS, str(10**9))


@dataclass
class Paths:
    """Where a contender has its endpoints. `me` is the profile of the developer API, which only the service has."""

    token: str
    userinfo: str
    discovery: str
    me: str | None = None


OUR_PATHS = Paths("/connect/token", "/connect/userinfo", "/.well-known/openid-configuration", "/v1/me")


@dataclass
class Contender:
    """One client of one running server."""

    name: str
    port: int
    pid: int
    paths: Paths
    basic: str
    codes: list[str]
    form: dict[str, str]
    operations: frozenset[str] = frozenset({"refresh", "exchange", "userinfo", "discovery"})
    refresh_tokens: list[str] = field(default_factory=list)
    access_tokens: list[str] = field(default_factory=list)

    def take_tokens(self) -> None:
        """Exchange codes for what the connections go on with.

        Access tokens are of authorizations of their own: a refresh may end the access token that came before.
        """
        self.refresh_tokens = [self._exchange()["refresh_token"] for _ in range(CONNECTIONS)]
        self.access_tokens = [self._exchange()["access_token"] for _ in range(CONNECTIONS)]

    def _exchange(self) -> dict[str, str]:
        form = self.form | {"grant_type": "authorization_code", "code": self.codes.pop()}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{self.paths.token}", urlencode(form).encode(), {"Authorization": self.basic}
        )
        with urllib.request.urlopen(request) as response:
            answer: dict[str, str] = json.load(response)
        if "id_token" not in answer:
            raise processes.NotReady(f"{self.name} gives no ID token")
        return answer


@dataclass
class Place:
    """What all contenders share: where they may write, what they store in, and which core they get."""

    folder: Path
    postgres_url: str
    redis_url: str
    core: int | None
    codes: int
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
            "codes_at_start": CODES_AT_START,
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


def environment(**own: str) -> dict[str, str]:
    """Return this environment without what would configure the service, and with `own`."""
    left_out = {*plugin.SETTINGS, "DATA_DIR", "DJANGO_SETTINGS_MODULE"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return kept | {"PYTHONPATH": str(ROOT)} | own


def basic(client_id: str, secret: str) -> str:
    """Return an Authorization header; the ids and secrets here need no escaping."""
    return f"Basic {base64.b64encode(f'{client_id}:{secret}'.encode()).decode()}"


def _output(command: list[str], folder: Path, env: dict[str, str], asked: dict[str, Any] | None = None) -> Any:
    """Run a script that prepares, and return what it prints as JSON. Raises NotReady."""
    given = json.dumps(asked or {})
    done = subprocess.run(command, cwd=folder, env=env, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise processes.NotReady(done.stderr[-3000:])
    return json.loads(done.stdout)


@contextlib.contextmanager
def ours(place: Place) -> Iterator[list[Contender]]:
    """Yield the service, as `manage.py serve` runs it: PostgreSQL for its rows, Redis for its counters."""
    with _service(place, "ours", place.asked) as (port, pid, made):
        header = basic(made["client_id"], made["client_secret"])
        operations = frozenset({"refresh", "exchange", "userinfo", "me", "discovery"})
        yield [Contender("ours", port, pid, OUR_PATHS, header, made["codes"], place.form, operations)]


@contextlib.contextmanager
def grown(place: Place) -> Iterator[list[Contender]]:
    """Yield the service a second time, with `place.rows` access tokens and as many refresh tokens in its database."""
    asked = place.asked | {"codes": 1000, "rows": place.rows}
    with _service(place, "grown", asked) as (port, pid, made):
        header = basic(made["client_id"], made["client_secret"])
        operations = frozenset({"refresh", "me"})
        yield [Contender("ours, grown", port, pid, OUR_PATHS, header, made["codes"], place.form, operations)]


@contextlib.contextmanager
def _service(place: Place, name: str, asked: dict[str, Any]) -> Iterator[tuple[int, int, Any]]:
    """Yield the port and process id of a service, and what was prepared in it."""
    port = keeper.free_port()
    env = environment(
        PORT=str(port),
        DATA_DIR=str(place.folder / name),
        DATABASE_URL=place.database(name),
        REDIS_URL=place.redis(0),
        AUTHORIZATION_CODE_SECONDS="3600",
        ACCESS_TOKEN_SECONDS="3600",
        **UNLIMITED,
    )
    made = _output([sys.executable, "-m", "benchmarks.prepare_ours"], ROOT, env, asked)
    with processes.server(
        [sys.executable, "manage.py", "serve"],
        folder=ROOT,
        env=env,
        core=place.core,
        ready=f"http://127.0.0.1:{port}{OUR_PATHS.discovery}",
        log=place.folder / f"{name}.log",
    ) as pid:
        yield port, pid, made


@contextlib.contextmanager
def stock(place: Place) -> Iterator[list[Contender]]:
    """Yield django-oauth-toolkit twice: with a client secret hashed cheaply, and as it does by default."""
    port = keeper.free_port()
    key_file = place.folder / "stock_key"
    key_file.write_bytes(
        rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    env = environment(
        DATABASE_URL=place.database("stock"), SECRET_KEY=secrets.token_urlsafe(48), RSA_KEY_FILE=str(key_file)
    )
    made = _output([sys.executable, "-m", "benchmarks.stock.prepare"], ROOT, env, place.asked)
    paths = Paths("/o/token/", "/o/userinfo/", "/o/.well-known/openid-configuration")
    with processes.server(
        [sys.executable, "-m", "benchmarks.stock.serve", str(port)],
        folder=ROOT,
        env=env,
        core=place.core,
        ready=f"http://127.0.0.1:{port}{paths.discovery}",
        log=place.folder / "stock.log",
    ) as pid:
        yield [
            Contender(
                name,
                port,
                pid,
                paths,
                basic(made[hasher]["client_id"], made[hasher]["client_secret"]),
                made[hasher]["codes"],
                place.form,
                operations,
            )
            for name, hasher, operations in (
                ("stock", "cheap", frozenset({"refresh", "exchange", "userinfo", "discovery"})),
                ("stock, default hasher", "default", frozenset({"refresh"})),
            )
        ]


@contextlib.contextmanager
def node(place: Place) -> Iterator[list[Contender]]:
    """Yield node-oidc-provider; nothing where there is no Node."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        print("node-oidc-provider is left out: node and npm are not both on the PATH", file=sys.stderr)
        yield []
        return
    _install_packages()
    port = keeper.free_port()
    client_id, secret = secrets.token_hex(12), secrets.token_urlsafe(32)
    key = JWK.generate(kty="RSA", size=2048, alg="RS256", use="sig").export(as_dict=True)
    settings = place.asked | {
        "issuer": f"http://127.0.0.1:{port}",
        "jwks": {"keys": [key]},
        "cookie_key": secrets.token_urlsafe(32),
        "client_id": client_id,
        "client_secret": secret,
    }
    file = place.folder / "node.json"
    file.write_text(json.dumps(settings))
    env = environment(
        NODE_ENV="production", PORT=str(port), REDIS_URL=place.redis(1), SETTINGS_FILE=str(file), NODE_NO_WARNINGS="1"
    )
    codes = _output(["node", "prepare.mjs"], NODE, env)
    paths = Paths("/token", "/me", "/.well-known/openid-configuration")
    with processes.server(
        ["node", "server.mjs"],
        folder=NODE,
        env=env,
        core=place.core,
        ready=f"http://127.0.0.1:{port}{paths.discovery}",
        log=place.folder / "node.log",
    ) as pid:
        yield [Contender("node-oidc-provider", port, pid, paths, basic(client_id, secret), codes, place.form)]


def _install_packages() -> None:
    stamp = NODE / "node_modules" / ".installed"
    wanted = hashlib.sha256((NODE / "package-lock.json").read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    # Standard output is for the figures alone.
    subprocess.run(command, cwd=NODE, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=True)
    stamp.write_text(wanted)
