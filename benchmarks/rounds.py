"""Slots of a round: each measures one operation of one contender."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from benchmarks import processes
from benchmarks.contenders import CONNECTIONS, Contender

OPERATIONS = ("refresh", "exchange", "userinfo", "me", "discovery", "jwks")
# Only the service has these: the requests of the company's own APIs and their proxies, compared with `me`.
API_OPERATIONS = ("introspection", "forward_auth")
LEAD_IN_SECONDS = 0.5
SIGNING_SECONDS = 0.5
AS_LONG_AS_IT_TAKES = 3600.0
# Codes are created in advance for this many exchanges per second. The slot of a faster contender ends early.
CODES_PER_SECOND = 900


def slots(measured: list[Contender], only: list[str]) -> list[tuple[str, Contender]]:
    """Return the slots of a round: for each operation, the contenders in turn."""
    found: list[tuple[str, Contender]] = []
    for operation in (*OPERATIONS, *API_OPERATIONS):
        # /v1/me is compared with the userinfo of the other contenders.
        asked = operation in only or (operation == "userinfo" and "me" in only)
        mine_too = operation in only
        takes_part = [one for one in measured if operation in one.operations]
        found += [(operation, one) for one in takes_part if asked and (mine_too or one.paths.me is None)]
    return found


def codes_a_slot(seconds: float) -> int:
    """Return the number of codes that each connection may need in a slot of this length."""
    return int((seconds + LEAD_IN_SECONDS) * CODES_PER_SECOND / CONNECTIONS) + 1


def _job(operation: str, one: Contender, seconds: float, requests: int | None) -> dict[str, Any]:
    """Return the job for the load generator."""
    posts = operation in ("refresh", "exchange", "introspection")
    to_token = operation in ("refresh", "exchange")
    if operation == "refresh":
        connections: list[dict[str, Any]] = [{"refresh_token": token} for token in one.refresh_tokens]
    elif operation == "exchange":
        share = codes_a_slot(seconds)
        connections = []
        for _ in range(CONNECTIONS):
            connections.append({"codes": one.codes[:share]})
            del one.codes[:share]
    elif operation == "introspection":
        connections = [{"token": token} for token in one.api_tokens]
    elif operation == "forward_auth":
        call = "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /events/1\r\n"
        connections = [{"get": f"{call}Authorization: Bearer {token}\r\n"} for token in one.api_tokens]
    elif operation in ("discovery", "jwks"):
        connections = [{} for _ in range(CONNECTIONS)]
    else:
        connections = [{"get": f"Authorization: Bearer {token}\r\n"} for token in one.access_tokens]
    return {
        "operation": operation if posts else "get",
        "port": one.server.port,
        "path": one.paths.token if to_token else getattr(one.paths, operation),
        "seconds": seconds,
        "lead_in": LEAD_IN_SECONDS if requests is None else 0.0,
        "requests": requests,
        "pids": processes.family(one.server.pid),
        "connections": connections,
        "basic": one.api_basic if operation == "introspection" else one.basic,
        "form": one.form if operation == "exchange" else {},
    }


def measure(operation: str, one: Contender, seconds: float, requests: int | None = None) -> dict[str, Any]:
    """Run one slot and return its counts. `requests` optionally limits the number of requests.

    Raises NotReady if a response is not 200.
    """
    load = [sys.executable, str(Path(__file__).with_name("load.py"))]
    given = json.dumps(_job(operation, one, seconds, requests))
    done = subprocess.run(load, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise processes.NotReady(f"{operation} of {one.name}: {done.stderr[-1500:]}")
    counted: dict[str, Any] = json.loads(done.stdout)
    if operation == "refresh":
        one.refresh_tokens = counted["refresh_tokens"]
    return counted


def signing_rate(core: int | None) -> tuple[float, float]:
    """Return the RSA-2048 signatures that the servers' core makes per second, and per second of processor time."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = bytes(700)  # about as long as the signed part of a token
    with processes.on_core(core):
        made, started, processor = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - started < SIGNING_SECONDS:
            key.sign(text, padding.PKCS1v15(), SHA256())
            made += 1
        return made / (time.perf_counter() - started), made / (time.process_time() - processor)
