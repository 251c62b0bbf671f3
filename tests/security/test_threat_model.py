"""The threat model of docs/security.md: each of its lines names tests, and they are there."""

import re
from pathlib import Path

import pytest

from tests import repository

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(test_\w+)`")


def threats() -> list[tuple[str, str]]:
    """Return what each line of a table of attempts says is tried, and what shows that it fails."""
    rows = []
    for table in re.findall(r"^\|[^\n]*\| shown by \|\n\|[-| ]+\n((?:\|[^\n]*\n)+)", DOCUMENT, re.MULTILINE):
        for line in table.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert len(cells) == 3, line
            rows.append((cells[0], cells[2]))
    return rows


def functions() -> set[str]:
    """Return the names of all tests."""
    found: set[str] = set()
    for path in repository.walk(ROOT / "tests"):
        if path.suffix == ".py" and path.name.startswith("test_"):
            text = path.read_text(encoding="utf-8")
            found |= set(re.findall(r"^(?:    )?def (test_\w+)\(", text, re.MULTILINE))
    return found


def test_there_are_lines_for_each_kind_of_attacker() -> None:
    assert len(threats()) > 50


@pytest.mark.parametrize(("attempt", "shown_by"), threats(), ids=lambda cell: cell[:60])
def test_every_line_names_a_test(attempt: str, shown_by: str) -> None:
    assert NAMED.search(shown_by), attempt


def test_each_test_that_is_named_exists() -> None:
    assert sorted(set(NAMED.findall(DOCUMENT)) - functions()) == []


def test_each_file_that_is_named_exists() -> None:
    named = re.findall(r"`((?:accounts|api|devportal|oidc|tests)/[\w/]+\.py)`", DOCUMENT)
    assert [name for name in named if not (ROOT / name).exists()] == []
