"""Measure the memory of a worker of `manage.py serve`, at rest and after many requests.

python benchmarks/memory.py starts one worker with a temporary PostgreSQL and Redis, and sends me, userinfo, refresh
and discovery in turn. The figures come from the kernel (Linux, /proc/PID/smaps_rollup).
"""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import contenders, figures, interpreters, processes, rounds, servers
from benchmarks.contenders import Contender, Place
from tests.services import keeper, postgres, redis

OPERATIONS = ("me", "userinfo", "refresh", "discovery")
FIRST_REQUESTS = 25  # of each operation, so that code loaded at first use is already in memory
STEPS = 10
MEGABYTE = 2**20
# Private memory of a worker at rest.
AIM = 120 * MEGABYTE
# Growth in the second half of the requests. Allocators may keep a few pages more or less.
GROWTH_AIM = MEGABYTE


@dataclass(frozen=True)
class Memory:
    """The memory of a process in bytes: resident, proportional and private."""

    rss: int
    pss: int
    own: int

    @property
    def cells(self) -> list[str]:
        return [f"{each / MEGABYTE:.1f}" for each in (self.rss, self.pss, self.own)]


def parse(rollup: str) -> Memory:
    """Return the figures of a smaps_rollup file (proc_pid_smaps_rollup(5))."""
    found: dict[str, int] = {}
    for line in rollup.splitlines()[1:]:
        name, _, value = line.partition(":")
        found[name] = int(value.split()[0]) * 1024
    return Memory(found["Rss"], found["Pss"], found["Private_Clean"] + found["Private_Dirty"])


def of(pid: int) -> Memory:
    return parse(Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii"))


def worker_of(pid: int) -> int:
    """Return the process id of the only worker of a `serve` process: its child with the most memory."""
    return max(processes.family(pid)[1:], key=lambda child: of(child).rss)


def send(one: Contender, each: int) -> None:
    """Send `each` requests of each operation. Raises NotReady if a response is not 200."""
    for operation in OPERATIONS:
        rounds.measure(operation, one, rounds.AS_LONG_AS_IT_TAKES, requests=each)


def report(one: Contender, requests: int) -> str:
    """Send the requests in steps, and return the table."""
    send(one, FIRST_REQUESTS)
    parent, worker = one.server.pid, worker_of(one.server.pid)
    taken = [(0, of(worker))]
    each = max(requests // STEPS // len(OPERATIONS), 1)
    for step in range(1, STEPS + 1):
        send(one, each)
        taken.append((step * each * len(OPERATIONS), of(worker)))
        print(f"{taken[-1][0]:,} requests", file=sys.stderr)
    lines = [["worker, at rest", *taken[0][1].cells]]
    lines += [[f"worker, after {count:,} requests", *held.cells] for count, held in taken[1:]]
    lines.append(["its parent", *of(parent).cells])
    table = figures.markdown(["MB", "resident", "proportional", "private"], lines, right=1)
    return f"On {one.server.runs_on}:\n\n{table}\n\n{summary([held for _, held in taken])}"


def summary(taken: Sequence[Memory]) -> str:
    """Return whether the worker met the aims. `taken` holds its memory before, during and after the requests."""
    rest, half, end = (taken[place].own for place in (0, len(taken) // 2, -1))
    said, grew = ("met" if reached else "MISSED" for reached in (rest < AIM, end - half < GROWTH_AIM))
    return (
        f"Private at rest {rest / MEGABYTE:.0f} MB, aim below {AIM / MEGABYTE:.0f}: {said}. Requests changed it by "
        f"{(end - rest) / MEGABYTE:+.1f} MB, their second half {(end - half) / MEGABYTE:+.1f}, aim no growth: {grew}."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=100_000, help="default: 100,000")
    parser.add_argument("--python", default=sys.executable, metavar="COMMAND", help="what serves, as in run.py")
    given = parser.parse_args()
    for missing in (postgres.why_missing(), redis.why_missing()):
        if missing:
            print(missing, file=sys.stderr)
            return 1
    tested, rest = processes.cores() or (None, None)
    try:
        with contextlib.ExitStack() as stack:
            python = interpreters.find(given.python)
            stack.enter_context(processes.on_core(rest))
            folder = stack.enter_context(keeper.folder())
            database, store = stack.enter_context(postgres.start()), stack.enter_context(redis.start())
            measured = servers.ours(Place(folder, database, store, python))
            stack.enter_context(contenders.running(measured, tested))
            print(report(measured[0], given.requests))
    except processes.NotReady as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
