"""Writing the audit log: whole lines, in one write, and never an error for the request."""

import json
import logging
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import override_settings

from core import audit_log, clock
from core.audit_log import LONGEST_LINE, FileHandler, Line
from core.telemetry import metrics, tracing


@pytest.fixture
def file(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """The file of the audit log; its folder exists."""
    path = tmp_path / "audit.jsonl"
    settings.AUDIT_LOG = str(path)
    handler = FileHandler(path, delay=True, encoding="utf-8")
    logger = logging.getLogger(audit_log.NAME)
    before, logger.handlers = logger.handlers, [handler]
    audit_log._next_report = 0.0
    yield path
    logger.handlers = before
    handler.close()


def line(**fields: Any) -> Line:
    return Line(clock.now(), "audit", "project.renamed", **fields)


def test_lines_of_several_writers_are_whole_and_survive_logrotate(file: Path) -> None:
    logger = logging.getLogger(audit_log.NAME)
    logger.handlers += [FileHandler(file, delay=True, encoding="utf-8") for _ in range(3)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: audit_log.write(line(details={"n": n, "much": "ü" * 900})), range(20)))
    moved = file.rename(file.with_suffix(".1"))
    audit_log.write(line(details={"n": 20}))
    lines = [json.loads(text) for path in (moved, file) for text in path.read_text("utf-8").splitlines()]
    assert sorted(each["details"]["n"] for each in lines) == sorted([*range(21)] * 4)
    assert file.stat().st_mode & 0o007 == 0


def test_each_line_is_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted with a socket of messages: each read returns one write."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    handler = audit_log.StreamHandler(os.fdopen(theirs.detach(), "w", encoding="utf-8"))
    monkeypatch.setattr(logging.getLogger(audit_log.NAME), "handlers", [handler])
    for size in (10, 3000, 30_000):
        audit_log.write(line(details={"much": "x" * size}))
        text = ours.recv(100_000).decode()
        assert text.endswith("\n")
        assert json.loads(text)["kind"] == "project.renamed"


@pytest.mark.parametrize(
    "fields",
    [
        {"target": "t" * 10_000},
        {"client": "€" * 9000},
        {"details": {"a": "x" * 5000, "b": 1}, "before": {"c": ["y" * 100] * 100}},
        {"details": {f"n{number}": number for number in range(2000)}},
        {"details": {f"n{number}": "[cut]" for number in range(2000)}, "after": {"k" * 9000: 1}},
    ],
)
def test_long_lines_are_cut_to_valid_ones(fields: dict[str, Any]) -> None:
    text = line(project="prj_one", **fields).as_json(LONGEST_LINE)
    assert len(text) <= LONGEST_LINE
    assert json.loads(text)["project"] == "prj_one"
    assert len(line(**fields).as_json()) > LONGEST_LINE


@pytest.mark.parametrize(
    "details",
    [
        {"name": "ada"}, {"first_name": "Ada"}, {"new": "ada"}, {"which": "Ada"}, {"note": "ada"},
        {"deep": {"support_address": ["ada"]}}, {"apps": ["Ada at home"]}, {"list": [{"mail": "ada"}]},
        {"anything": "ada@example.com"}, {"url": "https://ada@example.com/"}, {"password": "ada-secret"},
    ],
)  # fmt: skip
def test_personal_data_is_removed_at_any_depth(details: dict[str, Any]) -> None:
    assert "ada" not in line(details=details, before=details, after=details).as_json().lower()
    with override_settings(AUDIT_LOG_PERSONAL=True):
        assert ("ada" in line(details=details).as_json().lower()) == ("password" not in details)


def test_a_line_with_line_ends_stays_one_line() -> None:
    text = line(details={"code": "a\nb\u2028c\udc80"}).as_json()
    assert len(text.splitlines()) == 1
    text.encode()


def test_a_log_that_can_not_be_written_is_logged_once_and_breaks_nothing(
    file: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[bool] = []
    counter = SimpleNamespace(count=lambda: failed.append(True))
    monkeypatch.setattr(metrics, "AUDIT_LOG_FAILURES", counter)
    file.mkdir()
    for _ in range(3):
        audit_log.write(line())
    file.rmdir()
    audit_log.write(line())
    assert len(failed) == 3
    assert [record.name for record in caplog.records if record.levelname == "ERROR"] == ["core.audit_log"]
    assert len(file.read_text().splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_breaks_nothing(
    settings: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AUDIT_LOG = "/dev/full"
    monkeypatch.setattr(audit_log, "_next_report", 0.0)
    monkeypatch.setattr(logging.getLogger(audit_log.NAME), "handlers", [FileHandler("/dev/full", delay=True)])
    for _ in range(2):
        audit_log.write(line())
    assert [record.name for record in caplog.records if record.levelname == "ERROR"] == ["core.audit_log"]


def test_a_file_that_can_not_be_written_is_found_at_the_start(settings: Any, tmp_path: Path) -> None:
    for path, is_wrong in (("", False), ("stdout", False), (tmp_path / "a", False), (tmp_path / "no" / "a", True)):
        settings.AUDIT_LOG = str(path)
        assert ("devportal.E053" in [found.id for found in tracing.check_telemetry(None)]) == is_wrong
