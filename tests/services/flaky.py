"""Runs pytest, and then runs the tests that failed again, alone. A test that passes the second time is flaky.

A flaky test fails the run as well, unless KNOWN has its node id. The arguments are those of pytest. `make test-all`
runs all tests this way, and `make test` does so with `CI=true`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Node ids of flaky tests that do not fail the run, each with the reason why it can't be made reliable.
KNOWN: dict[str, str] = {}
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main(arguments: list[str]) -> int:
    """Return pytest's exit code, or 1 if tests are flaky that are not in KNOWN."""
    status = _run_pytest(*arguments)
    if status != pytest.ExitCode.TESTS_FAILED:
        return status
    failed = _last_failed()
    status = _run_pytest(*arguments, "-n", "0", "--last-failed", "--last-failed-no-failures", "none")
    flaky = sorted(failed - _last_failed())
    for nodeid in flaky:
        sys.stderr.write(f"flaky{f' (known: {KNOWN[nodeid]})' if nodeid in KNOWN else ''}: {nodeid}\n")
    if unknown := len([nodeid for nodeid in flaky if nodeid not in KNOWN]):
        sys.stderr.write(f"The run fails because of {unknown} flaky tests: they failed at first, and passed alone.\n")
    return status or int(unknown > 0)


def _run_pytest(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


def _last_failed() -> set[str]:
    return set(json.loads(LAST_FAILED.read_text(encoding="utf-8"))) if LAST_FAILED.exists() else set()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
