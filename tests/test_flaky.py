"""Tests that fail and then pass fail the run if there are two of them that are not known to be flaky."""

from pathlib import Path

import pytest

from tests.services import flaky

ROOT = Path(__file__).parents[1]
TESTS = """
from pathlib import Path

def test_passes(): pass

def fail_once(name):
    seen = Path(name)
    if not seen.exists():
        seen.touch()
        raise AssertionError

def test_fails_once():
    fail_once("once")
"""
ANOTHER = """
def test_also_fails_once():
    fail_once("also")
"""
FAILS = "def test_fails(): raise AssertionError\n"
ONCE = "test_it.py::test_fails_once"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run pytest in an empty folder, without the settings of this run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)


def run(tests: str) -> int:
    Path("test_it.py").write_text(tests)
    return flaky.main(["-q", "-n", "1", "-p", "no:django", "test_it.py"])


def test_a_flaky_test_is_reported_and_two_fail_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(TESTS) == 0
    reported = capfd.readouterr().err
    assert f"flaky: {ONCE}\n" in reported
    assert "test_passes" not in reported
    for name in ("once", "also"):
        Path(name).unlink(missing_ok=True)
    assert run(TESTS + ANOTHER) == 1
    assert "fails because of 2 flaky tests" in capfd.readouterr().err


def test_a_flaky_test_with_a_reason_is_reported_and_does_not_count(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(flaky.KNOWN, ONCE, "it measures time")
    assert run(TESTS + ANOTHER) == 0
    assert f"flaky (known: it measures time): {ONCE}\n" in capfd.readouterr().err


def test_a_test_that_fails_twice_is_not_flaky(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(flaky.KNOWN, ONCE, "it measures time")
    assert run(TESTS + FAILS) == 1
    assert "test_fails\n" not in capfd.readouterr().err


def test_each_known_flaky_test_or_folder_exists_and_has_a_reason() -> None:
    for known, reason in flaky.KNOWN.items():
        path, _, name = known.partition("[")[0].partition("::")
        assert reason
        assert (ROOT / path).exists()
        assert not name or f"def {name.rpartition('::')[2]}(" in (ROOT / path).read_text(encoding="utf-8")
