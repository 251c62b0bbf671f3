"""The servers that are measured, each with a separate database, client and set of codes."""

import hashlib
import json
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwcrypto.jwk import JWK

from benchmarks import machine
from benchmarks.aims import BEFORE, GROWN, NODE, OURS, STOCK
from benchmarks.contenders import OF_ALL, UNLIMITED, Contender, Paths, Place, Server, basic, environment, output
from benchmarks.interpreters import ROOT
from benchmarks.rounds import API_OPERATIONS
from tests.services import keeper

NODE_FOLDER = Path(__file__).resolve().parent / "node"
DISCOVERY = "/.well-known/openid-configuration"
OUR_PATHS = Paths(
    "/connect/token",
    "/connect/userinfo",
    DISCOVERY,
    "/.well-known/jwks",
    "/v1/me",
    "/connect/introspect",
    "/connect/forward-auth/calendar",
)
# The Redis database of each server, so that no server writes the counts of another one to its database.
REDIS_NUMBERS = {OURS: 0, NODE: 1, BEFORE: 2, GROWN: 3}


def ours(place: Place) -> list[Contender]:
    """Return the service, run by `manage.py serve` with PostgreSQL and Redis."""
    return [service(place, OURS, OF_ALL | {"me", *API_OPERATIONS})]


def before(place: Place, checkout: Path) -> list[Contender]:
    """Return the service of another checkout, prepared and run with that checkout's code and packages."""
    return [service(place, BEFORE, OF_ALL | {"me"}, checkout=checkout)]


def grown(place: Place) -> list[Contender]:
    """Return the service a second time, with `place.rows` access tokens and as many refresh tokens in its database."""
    return [service(place, GROWN, frozenset({"refresh", "userinfo", "me"}), rows=place.rows)]


def service(place: Place, name: str, operations: frozenset[str], *, checkout: Path = ROOT, rows: int = 0) -> Contender:
    """Return one copy of our service, with a client in a separate database. Raises NotReady."""
    print(f"preparing {name}", file=sys.stderr)
    python = place.python.with_packages_of(checkout)
    short, port = name.rpartition(" ")[2], keeper.free_port()
    env = environment(
        checkout,
        PORT=str(port),
        DATA_DIR=str(place.folder / short),
        DATABASE_URL=place.database(short),
        REDIS_URL=place.redis(REDIS_NUMBERS[name]),
        AUTHORIZATION_CODE_SECONDS="3600",
        ACCESS_TOKEN_SECONDS="3600",
        **UNLIMITED,
    )
    # The grown copy needs no codes for exchanges, because they are not measured on it.
    asked = place.asked | ({"rows": rows, "codes": place.asked["codes_at_start"]} if rows else {})
    made = output([*python, "-m", "benchmarks.prepare_ours"], checkout, env, asked)
    command, log = [*python, "manage.py", "serve"], place.folder / f"{short}.log"
    server = Server(command, checkout, env, port, DISCOVERY, log, place.python.build.short)
    header = basic(made["client_id"], made["client_secret"])
    of_api = (basic(made["api_id"], made["api_secret"]), made["api_tokens"]) if "api_id" in made else ()
    return Contender(name, server, OUR_PATHS, header, made["codes"], place.form, operations, *of_api)


def stock(place: Place) -> list[Contender]:
    """Return django-oauth-toolkit twice: with a fast hash for the client secret, and with the default hash."""
    print("preparing stock", file=sys.stderr)
    python, port = place.python.with_packages_of(ROOT), keeper.free_port()
    key_file = place.folder / "stock_key"
    key_file.write_bytes(
        rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    env = environment(
        DATABASE_URL=place.database(STOCK), SECRET_KEY=secrets.token_urlsafe(48), RSA_KEY_FILE=str(key_file)
    )
    made = output([*python, "-m", "benchmarks.stock.prepare"], ROOT, env, place.asked)
    paths = Paths("/o/token/", "/o/userinfo/", f"/o{DISCOVERY}", "/o/.well-known/jwks.json")
    command, log = [*python, "-m", "benchmarks.stock.serve", str(port)], place.folder / "stock.log"
    server = Server(command, ROOT, env, port, paths.discovery, log, place.python.build.short)
    kinds = ((STOCK, "cheap", OF_ALL), (f"{STOCK}, default hasher", "default", frozenset({"refresh"})))
    return [
        Contender(
            name,
            server,
            paths,
            basic(made[hasher]["client_id"], made[hasher]["client_secret"]),
            made[hasher]["codes"],
            place.form,
            operations,
        )
        for name, hasher, operations in kinds
    ]


def node(place: Place) -> list[Contender]:
    """Return node-oidc-provider, or nothing if Node is not installed."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        print("node-oidc-provider is left out: node and npm are not both on the PATH", file=sys.stderr)
        return []
    print("preparing node-oidc-provider", file=sys.stderr)
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
        NODE_ENV="production",
        PORT=str(port),
        REDIS_URL=place.redis(REDIS_NUMBERS[NODE]),
        SETTINGS_FILE=str(file),
        NODE_NO_WARNINGS="1",
    )
    codes = output(["node", "prepare.mjs"], NODE_FOLDER, env)
    paths = Paths("/token", "/me", DISCOVERY, "/jwks")
    runs_on, log = f"Node {machine.node_version()}", place.folder / "node.log"
    server = Server(["node", "server.mjs"], NODE_FOLDER, env, port, paths.discovery, log, runs_on)
    return [Contender(NODE, server, paths, basic(client_id, secret), codes, place.form)]


def _install_packages() -> None:
    stamp = NODE_FOLDER / "node_modules" / ".installed"
    wanted = hashlib.sha256((NODE_FOLDER / "package-lock.json").read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    # Only the figures go to standard output.
    subprocess.run(command, cwd=NODE_FOLDER, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=True)
    stamp.write_text(wanted)
