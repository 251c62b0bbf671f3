"""Compares this checkout with another one, request by request: python benchmarks/paired.py OTHER [me refresh …].

Each side answers in a process of its own, in turns of a few dozen requests, on the same PostgreSQL and Redis. What
counts is the processor time of a request: other work on the machine touches both sides alike.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = 40  # requests of one side before it is the other's turn
WARM_UP = 400


def serve(root: Path, operation: str) -> None:
    """Be one side: for each line that holds a number, send so many requests and print the microseconds of one."""
    os.chdir(root)
    sys.path.insert(0, str(root))
    import django

    from benchmarks.profile_refresh import App

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    app = App(operation)
    print("ready", flush=True)
    for line in sys.stdin:
        begun = time.process_time()
        for _ in range(int(line)):
            app.send()
        print(1e6 * (time.process_time() - begun) / int(line), flush=True)


class Side:
    """The process of one checkout."""

    def __init__(self, root: Path, operation: str) -> None:
        command = [str(root / ".venv/bin/python"), str(Path(__file__).resolve()), str(root), operation, "--serve"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout
        while self._out.readline().strip() != "ready":
            if self.process.poll() is not None:
                raise SystemExit(f"{root} does not answer")

    def send(self, requests: int) -> float:
        """Return the processor time of a request, in microseconds."""
        self._in.write(f"{requests}\n")
        self._in.flush()
        return float(self._out.readline())

    def end(self) -> None:
        self._in.close()
        self.process.wait()


def series(other: Path, operation: str, rounds: int) -> list[tuple[float, float]]:
    """Return what a request took there and here, in pairs of blocks, by two fresh processes."""
    # The older first: its migrations are a part of the newer one's.
    sides = [Side(other, operation), Side(ROOT, operation)]
    try:
        for side in sides:
            side.send(WARM_UP)
        pairs = []
        for number in range(rounds):
            order = (0, 1) if number % 2 else (1, 0)
            took = {index: sides[index].send(BLOCK) for index in order}
            pairs.append((took[0], took[1]))
    finally:
        for side in sides:
            side.end()
    return pairs


def compare(other: Path, operation: str, starts: int, rounds: int) -> None:
    """Print the medians, and the ratio: of each start the median of its rounds, of all starts the median."""
    pairs, ratios = [], []
    for _ in range(starts):
        found = series(other, operation, rounds)
        ratios.append(statistics.median(now / then for then, now in found))
        pairs += found
    before, after = (statistics.median(side) for side in zip(*pairs, strict=True))
    print(
        f"{operation}: {before:.0f} µs there, {after:.0f} µs here; ratio {statistics.median(ratios):.3f}, "
        f"from {min(ratios):.3f} to {max(ratios):.3f} in {starts} starts of both"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("other", type=Path, help="another checkout, with its own .venv")
    arguments.add_argument("operations", nargs="*", default=["me", "refresh"], help="me, userinfo, refresh")
    arguments.add_argument("--starts", type=int, default=7, help="same code differs by start")
    arguments.add_argument("--rounds", type=int, default=30, help="of each start")
    arguments.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.serve:
        serve(given.other, given.operations[0])
        return
    sys.path.insert(0, str(ROOT))
    from benchmarks.profile_refresh import services

    with services():
        for operation in given.operations:
            compare(given.other.resolve(), operation, given.starts, given.rounds)


if __name__ == "__main__":
    main()
