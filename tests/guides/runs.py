"""Record the test runs of guides: `make guides` stores them in a file, which the index of the guides shows."""

import fcntl
import importlib.metadata
import json
import os

from core import clock
from devportal.docs.guides.registry import FILE


def record_run(guide: str, versions: dict[str, str], *, is_part: bool = False) -> None:
    """Record a guide's run if WRITE_GUIDE_RUNS is set; otherwise check that these versions are recorded.

    With `is_part`, other tests of the guide record further versions.
    """
    if not os.environ.get("WRITE_GUIDE_RUNS"):
        written = json.loads(FILE.read_text(encoding="utf-8")).get(guide, {}).get("versions", {})
        is_written = versions.items() <= written.items() if is_part else versions == written
        assert is_written, f"`make guides` writes the versions of {guide} down: {versions}"
        return
    with FILE.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # several guides run at the same time
        runs = json.load(file)
        others = runs.get(guide, {}).get("versions", {}) if is_part else {}
        runs[guide] = {"day": clock.now().date().isoformat(), "versions": others | versions}
        file.seek(0)
        file.truncate()
        file.write(json.dumps(dict(sorted(runs.items())), indent=2) + "\n")


def installed(*packages: str) -> dict[str, str]:
    """Return the installed versions of Python packages, by their names."""
    return {package: importlib.metadata.version(package) for package in packages}
