"""The load generator: a separate process that reads a job as JSON and prints its counts as JSON.

It sends HTTP/1.1 over raw streams, one request at a time on each persistent connection. That makes it several times
faster than any of the servers. Requests in the lead-in time are sent but not counted.
"""

import asyncio
import contextlib
import json
import os
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

FORM = "application/x-www-form-urlencoded"
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Refused(Exception):
    """A server responded with another status than 200, so the measurement is not valid."""


@dataclass
class Connection:
    """One connection, with its credentials and the codes that it has not used yet."""

    get: str = ""
    token: str = ""
    refresh_token: str = ""
    codes: list[str] = field(default_factory=list)


@dataclass
class Job:
    """A slot of a round: an operation on a server, for a number of seconds."""

    operation: str
    port: int
    path: str
    seconds: float
    lead_in: float
    pids: list[int]
    connections: list[Connection]
    basic: str = ""
    form: dict[str, str] = field(default_factory=dict)
    requests: int | None = None  # the slot ends early after this many


@dataclass
class Count:
    begins: float
    ends: float
    latencies: list[float] = field(default_factory=list)
    last: float = 0.0
    is_over: bool = False


class Exhausted(Exception):
    """The connection has no code left."""


def _message(job: Job, own: Connection) -> bytes:
    if job.operation == "get":
        head = f"GET {job.path} HTTP/1.1\r\nHost: 127.0.0.1:{job.port}\r\nAccept: application/json\r\n"
        return f"{head}{own.get}\r\n".encode()
    form = dict(job.form)
    if job.operation == "refresh":
        form |= {"grant_type": "refresh_token", "refresh_token": own.refresh_token}
    elif job.operation == "introspection":
        form |= {"token": own.token}
    elif own.codes:
        form |= {"grant_type": "authorization_code", "code": own.codes.pop()}
    else:
        raise Exhausted
    body = urlencode(form)
    return (
        f"POST {job.path} HTTP/1.1\r\nHost: 127.0.0.1:{job.port}\r\nAuthorization: {job.basic}\r\n"
        f"Content-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


async def _answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    if "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    else:
        body = await _chunks(reader)
    if " 200" not in status[:13]:
        raise Refused(f"{status}: {body[:300]!r}")
    return body


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    """Return a body in chunked transfer coding (RFC 9112 §7.1)."""
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readuntil(b"\r\n")
    return body


async def _drive(job: Job, own: Connection, count: Count) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", job.port)
    with contextlib.suppress(Exhausted):
        while not count.is_over:
            message = _message(job, own)
            sent = time.perf_counter()
            if sent >= count.ends:
                break
            writer.write(message)
            body = await _answer(reader)
            done = time.perf_counter()
            if job.operation == "refresh":
                own.refresh_token = json.loads(body)["refresh_token"]
            if count.begins <= done <= count.ends:
                count.latencies.append(done - sent)
                count.last = done
                if len(count.latencies) == job.requests:
                    break
    # When one connection stops, the slot ends for all, because fewer connections would be a different load.
    count.is_over = True
    writer.close()


def _processor_seconds(pids: list[int]) -> float:
    """Return the processor seconds that processes have used so far; 0 without /proc."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


async def _watch(job: Job, count: Count) -> tuple[float, float]:
    """Return the processor seconds of the server and of this process during the counted time."""
    await asyncio.sleep(max(0.0, count.begins - time.perf_counter()))
    server, own = _processor_seconds(job.pids), time.process_time()
    while time.perf_counter() < count.ends and not count.is_over:
        await asyncio.sleep(0.005)
    return _processor_seconds(job.pids) - server, time.process_time() - own


async def run(job: Job) -> dict[str, Any]:
    """Do the job, and return the counts."""
    begins = time.perf_counter() + job.lead_in
    count = Count(begins, begins + job.seconds)
    watching = asyncio.create_task(_watch(job, count))
    await asyncio.gather(*(_drive(job, own, count) for own in job.connections))
    server, own = await watching
    # If the codes ran out, the counted time ends with the last response.
    out_of_codes = job.operation == "exchange" and any(not one.codes for one in job.connections)
    seconds = (count.last - count.begins) if out_of_codes else job.seconds
    ordered = sorted(count.latencies) or [0.0]
    return {
        "requests": len(count.latencies),
        "seconds": seconds,
        "server_processor": server,
        "own_processor": own,
        "median_ms": 1000 * statistics.median(ordered),
        "p95_ms": 1000 * ordered[int(0.95 * (len(ordered) - 1))],
        "refresh_tokens": [one.refresh_token for one in job.connections],
        "codes": [one.codes for one in job.connections],
    }


def main() -> int:
    given = json.load(sys.stdin)
    connections = [Connection(**one) for one in given.pop("connections")]
    try:
        json.dump(asyncio.run(run(Job(connections=connections, **given))), sys.stdout)
    except (Refused, OSError, asyncio.IncompleteReadError, KeyError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
