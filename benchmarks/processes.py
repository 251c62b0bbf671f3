"""Start processes on a chosen core, and end exactly these processes."""

import contextlib
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

READY_SECONDS = 60
STOP_SECONDS = 10


class NotReady(Exception):
    """A server ended or did not respond. The message ends with its log."""


def cores() -> tuple[int, int] | None:
    """Return the core for the server under test and the core for everything else; None if they can't be chosen."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    usable = sorted(os.sched_getaffinity(0))
    return (usable[0], usable[-1]) if len(usable) > 1 else None


@contextlib.contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """Run the block on one core; processes started in it stay there."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def server(
    command: Sequence[str], *, folder: Path, env: dict[str, str], core: int | None, ready: str, log: Path
) -> Iterator[int]:
    """Run a server until the end of the block, and yield its process id once the URL `ready` responds.

    Raises NotReady.
    """
    with log.open("wb") as out, on_core(core):
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            # Ctrl-C only reaches the benchmark, which then stops its servers in order.
            start_new_session=True,
        )
    try:
        _wait(process, ready, log)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: "subprocess.Popen[bytes]", ready: str, log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            urllib.request.urlopen(ready, timeout=2).close()
        except (urllib.error.URLError, OSError):
            if process.poll() is not None or time.monotonic() > deadline:
                raise NotReady(log.read_text(errors="replace")[-3000:]) from None
            time.sleep(0.1)
        else:
            return


def family(pid: int) -> list[int]:
    """Return a process id and those of all its descendants; without /proc, only the process id itself."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            # The name in brackets may contain spaces. The state and the parent follow it.
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for one in found:
        found.extend(child for child, parent in parents.items() if parent == one)
    return found
