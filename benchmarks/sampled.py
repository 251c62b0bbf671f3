"""Where this process is, looked at from outside some hundred times a second by py-spy, which is no package of ours.

Unlike stop-watches and cProfile it makes nothing slower, so that small functions weigh what they weigh.
"""

import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

RATE = 250
SHOWN = 40
PLACE = re.compile(r" \(.*?(?P<file>[^/]*/?[^/]+)\)$")


def sample(program: str, send: Callable[[], object], seconds: int) -> str:
    """Return the shares of functions while `send` is called again and again, as two tables.

    The program has to be allowed to read this process: as root, or with kernel.yama.ptrace_scope=0.
    """
    with tempfile.TemporaryDirectory(prefix="devportal-") as folder:
        file = Path(folder) / "stacks"
        how = ["--rate", str(RATE), "--duration", str(seconds), "--format", "raw", "--function", "--output", str(file)]
        watcher = subprocess.Popen([program, "record", *how, "--pid", str(os.getpid())], stdout=subprocess.DEVNULL)
        while watcher.poll() is None:
            send()
        if watcher.returncode:
            raise SystemExit(f"{program} could not watch this process")
        own, below = shares(file.read_text(encoding="utf-8"))
    return f"{_table('by itself', own)}\n\n{_table('with what it calls', below)}"


def shares(stacks: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return of stacks in py-spy's raw format the share of each function, by itself and with what it calls."""
    own: Counter[str] = Counter()
    below: Counter[str] = Counter()
    for line in stacks.splitlines():
        frames, _, times = line.rpartition(" ")
        names = [PLACE.sub(r"  \g<file>", frame) for frame in frames.split(";")]
        own[names[-1]] += int(times)
        # A function that calls itself is counted once.
        below.update(dict.fromkeys(names, int(times)))
    return _parts(own, own.total()), _parts(below, own.total())


def _parts(found: Counter[str], every: int) -> dict[str, float]:
    return {name: count / every for name, count in found.most_common()}


def _table(what: str, found: dict[str, float]) -> str:
    lines = [f"{100 * share:>6.1f} %  {name}" for name, share in list(found.items())[:SHOWN]]
    return "\n".join([f"{'share':>8}  function, {what}", *lines])
