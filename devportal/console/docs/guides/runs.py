"""When each guide was last run, and with which versions: written by its test (`make guides`), shown by the index."""

import functools
import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

FILE = Path(__file__).with_name("runs.json")


@dataclass(frozen=True)
class GuideRun:
    """The last run of a guide that its test wrote down: the day (UTC), and versions by library."""

    day: date
    versions: dict[str, str]


@functools.cache
def read_runs() -> dict[str, GuideRun]:
    """Return the runs by the name of their guide."""
    written = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: GuideRun(date.fromisoformat(run["day"]), run["versions"]) for name, run in written.items()}
