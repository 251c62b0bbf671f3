"""The audit log: one JSON line for each security event, on a logger of its own (docs/audit-log.md).

Apps and their developers never see it. It outlives the rows of the database, so the lines name people by their
primary keys, unless AUDIT_LOG_PERSONAL is set.
"""

import json
import logging
import os
import re
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from typing import Any

from django.conf import settings
from django.db import transaction

from core.http import client_ip, request_id
from core.logging import DEEPEST, plain_value
from core.telemetry import metrics

SCHEMA = 1
NAME = "openport.audit"
# Processes share one pipe or file: Linux writes a line of up to 4,096 bytes to a pipe at once (PIPE_BUF).
LONGEST_LINE = 4095
CUT, REMOVED = "[cut]", "[removed]"
# Fields with names of people and texts that people typed.
_PERSONAL = re.compile(
    r"(?i)name|mail|address|birth|phone|picture|reason|why|text|note|comment|login|^(old|new|which)$"
)
_CODE = re.compile(r"[a-z][a-z0-9_.]{0,60}")

_lines = logging.getLogger(NAME)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Line:
    """A line, as docs/audit-log.md describes it."""

    time: datetime
    source: str
    kind: str
    actor: int | None = None
    by: str = ""
    account: int | None = None
    project: str = ""
    client: str = ""
    target: str = ""
    ip: str = ""
    browser: str = ""
    request_id: str = ""
    reason: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    personal: dict[str, str] = field(default_factory=dict)  # written with AUDIT_LOG_PERSONAL only

    def as_json(self, longest: int | None = None) -> str:
        """Return the line. Above `longest` characters, the longest values become CUT."""
        given = {name: value for name, value in asdict(self).items() if name != "time"}
        values = {name: plain_value(name, value, DEEPEST) for name, value in given.items()}
        if not settings.AUDIT_LOG_PERSONAL:
            values = {name: _without_personal("", value) for name, value in values.items() if name != "personal"}
        values["reason"] = self.reason if _CODE.fullmatch(self.reason) else ""
        first: dict[str, Any] = {"schema": SCHEMA, "time": self.time.astimezone(UTC).isoformat(timespec="milliseconds")}
        return _shortened(first | values, longest)


def _shortened(values: dict[str, Any], longest: int | None) -> str:
    """Return values as JSON. Replace the longest of them by CUT until the text has at most `longest` characters."""
    while len(text := json.dumps(values)) > (longest or len(text)):
        places = [(values, name) for name in ("target", "client", "browser")]
        places += [(values[group], name) for group in ("details", "before", "after") for name in values[group]]
        within, name = max(places, key=lambda place: len(json.dumps(place[0][place[1]])))
        if len(json.dumps(within[name])) <= len(CUT) + 2:  # very many short values
            values |= {group: {CUT: True} for group in ("details", "before", "after")}
        else:
            within[name] = CUT
    return text


def _without_personal(name: str, value: Any) -> Any:
    """Return a value without the texts that may name people: what they typed, and email addresses."""
    if isinstance(value, dict):
        return {key: _without_personal(key, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_personal(name, inner) for inner in value]
    is_personal = isinstance(value, str) and value and (_PERSONAL.search(name) or (name and " " in value))
    return REMOVED if is_personal or (isinstance(value, str) and "@" in value) else value


def is_on() -> bool:
    """Return whether lines are written."""
    return bool(settings.AUDIT_LOG)


def current_request() -> dict[str, Any]:
    """Return the IP address and the id of the current request, empty in tasks and commands, for a Line."""
    came_from = client_ip.current()
    return {"ip": came_from, "request_id": request_id.current() if came_from else ""}


def write_after_commit(line: Line) -> None:
    """Write a line when the change is committed. Nothing is written if it is rolled back."""
    if is_on():
        transaction.on_commit(lambda: write(line), robust=True)


def write(line: Line) -> None:
    """Write a line now. A failure is counted and logged, and never ends a request."""
    try:
        _lines.info(line.as_json(LONGEST_LINE))
    except Exception:  # noqa: BLE001  # whatever it is, the event is in the database
        _failed()


_next_report = 0.0


def _failed() -> None:
    """Count a line that was not written, and log the reason at most once a minute."""
    global _next_report
    metrics.AUDIT_LOG_FAILURES.count()
    if time.monotonic() >= _next_report:
        _next_report = time.monotonic() + 60
        _log.exception("The audit log can't be written. The events are in the database only.")


class StreamHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Standard output; failures are reported by `write`."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's name
        raise  # logging calls it while it handles the error


class FileHandler(WatchedFileHandler):
    """A file that others can't read, opened again after logrotate has moved it. Each line is one appending write.

    Failures are reported by `write`.
    """

    def _open(self) -> Any:
        return open(
            self.baseFilename, self.mode, encoding=self.encoding, opener=lambda path, flags: os.open(path, flags, 0o640)
        )

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's name
        self.close()  # the next line opens it again
        raise  # logging calls it while it handles the error
