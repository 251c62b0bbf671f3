"""Measures the service beside stock django-oauth-toolkit and node-oidc-provider: python benchmarks/run.py.

See README.md beside this file. Progress goes to standard error, the figures to standard output.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from benchmarks import contenders, figures, processes
from benchmarks.contenders import CODES_AT_START, CONNECTIONS, Contender, Place
from tests.services import keeper, postgres, redis

OPERATIONS = ("refresh", "exchange", "userinfo", "me", "discovery")
LEAD_IN_SECONDS = 0.5
SIGNING_SECONDS = 0.5
# Codes are made ahead for this many exchanges a second; where one gets through more, its slot ends early.
CODES_PER_SECOND = 450


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is measured (default: 5)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement (default: 2)")
    parser.add_argument("--only", default=",".join(OPERATIONS), help=f"of {','.join(OPERATIONS)}")
    parser.add_argument(
        "--grown",
        type=int,
        default=0,
        metavar="ROWS",
        help="beside it a second copy of the service that has ROWS access tokens and as many refresh tokens",
    )
    given = parser.parse_args()
    given.only = given.only.split(",")
    if unknown := set(given.only) - set(OPERATIONS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return given


def slots(measured: list[Contender], only: list[str]) -> list[tuple[str, Contender]]:
    """Return what a round consists of: operation by operation, the contenders in turn."""
    found: list[tuple[str, Contender]] = []
    for operation in ("refresh", "exchange", "userinfo", "me", "discovery"):
        # The others' userinfo is what /v1/me is compared with.
        asked = operation in only or (operation == "userinfo" and "me" in only)
        mine_too = operation in only
        takes_part = [one for one in measured if operation in one.operations]
        found += [(operation, one) for one in takes_part if asked and (mine_too or one.paths.me is None)]
    return found


def job(operation: str, one: Contender, seconds: float) -> dict[str, Any]:
    """Return what the load generator is told."""
    path = {
        "refresh": one.paths.token,
        "exchange": one.paths.token,
        "userinfo": one.paths.userinfo,
        "me": one.paths.me,
        "discovery": one.paths.discovery,
    }[operation]
    if operation == "refresh":
        connections: list[dict[str, Any]] = [{"refresh_token": token} for token in one.refresh_tokens]
    elif operation == "exchange":
        share = int((seconds + LEAD_IN_SECONDS) * CODES_PER_SECOND / CONNECTIONS) + 1
        connections = []
        for _ in range(CONNECTIONS):
            connections.append({"codes": one.codes[:share]})
            del one.codes[:share]
    elif operation == "discovery":
        connections = [{} for _ in range(CONNECTIONS)]
    else:
        connections = [{"get": f"Authorization: Bearer {token}\r\n"} for token in one.access_tokens]
    return {
        "operation": operation if operation in ("refresh", "exchange") else "get",
        "port": one.port,
        "path": path,
        "seconds": seconds,
        "lead_in": LEAD_IN_SECONDS,
        "pids": processes.family(one.pid),
        "connections": connections,
        "basic": one.basic,
        "form": one.form if operation == "exchange" else {},
    }


def measure(operation: str, one: Contender, seconds: float) -> dict[str, Any]:
    """Run one slot and return its counts. Raises NotReady if the server answered anything but 200."""
    load = [sys.executable, str(Path(__file__).with_name("load.py"))]
    given = json.dumps(job(operation, one, seconds))
    done = subprocess.run(load, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise processes.NotReady(f"{operation} of {one.name}: {done.stderr[-1500:]}")
    counted: dict[str, Any] = json.loads(done.stdout)
    if operation == "refresh":
        one.refresh_tokens = counted["refresh_tokens"]
    return counted


def signing_rate(core: int | None) -> tuple[float, float]:
    """Return how many RSA-2048 signatures the servers' core makes in a second, and in a second of its processor."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = bytes(700)  # about as long as what is signed of a token
    with processes.on_core(core):
        made, begun, processor = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - begun < SIGNING_SECONDS:
            key.sign(text, padding.PKCS1v15(), SHA256())
            made += 1
        return made / (time.perf_counter() - begun), made / (time.process_time() - processor)


def run(measured: list[Contender], given: argparse.Namespace, core: int | None) -> None:
    """Measure in rounds, and print the figures."""
    rows: figures.Rows = {}
    signing: list[tuple[float, float]] = []
    for number in range(1, given.rounds + 1):
        print(f"round {number} of {given.rounds}", file=sys.stderr)
        signing.append(signing_rate(core))
        for operation, one in slots(measured, given.only):
            counted = measure(operation, one, given.seconds)
            rows.setdefault((operation, one.name), figures.Row()).add(counted)
    parts = [figures.table(rows), figures.ratios(rows), figures.growth(rows), figures.signatures(rows, signing)]
    print(*filter(None, parts), sep="\n\n")
    for doubt in figures.doubts(rows):
        print(f"note: {doubt}")


def main() -> int:
    given = arguments()
    for missing in (postgres.why_missing(), redis.why_missing()):
        if missing:
            print(missing, file=sys.stderr)
            return 1
    pair = processes.cores()
    tested, rest = pair or (None, None)
    if pair is None:
        print("note: cores can't be chosen here; the servers and what loads them share all of them")
    exchanges = given.rounds * (int((given.seconds + LEAD_IN_SECONDS) * CODES_PER_SECOND / CONNECTIONS) + 1)
    codes = CODES_AT_START + (CONNECTIONS * exchanges if "exchange" in given.only else 0)
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(processes.on_core(rest))
            folder = stack.enter_context(keeper.folder())
            database, store = stack.enter_context(postgres.start()), stack.enter_context(redis.start())
            place = Place(folder, database, store, tested, codes, given.grown)
            run(stack.enter_context(prepared(place)), given, tested)
    except processes.NotReady as error:
        print(error, file=sys.stderr)
        return 1
    return 0


@contextlib.contextmanager
def prepared(place: Place) -> Iterator[list[Contender]]:
    """Yield all contenders, running, with the tokens that their connections begin with."""
    beside = [contenders.grown] if place.rows else []
    with contextlib.ExitStack() as stack:
        measured: list[Contender] = []
        for start in (contenders.ours, *beside, contenders.stock, contenders.node):
            print(f"preparing {start.__name__}", file=sys.stderr)
            measured += stack.enter_context(start(place))
        for one in measured:
            one.take_tokens()
        yield measured


if __name__ == "__main__":
    sys.exit(main())
