"""The request log: one row a call, travelling and written with the counts (api/usage.py)."""

from datetime import UTC, datetime
from typing import Any

from api.models import RequestLog
from devportal.lib import clock, journal
from oidc.models import Project

LOG = "request"
_LONGEST = {"method": 8, "path": 100, "request_id": 64}


def masked(sub: str) -> str:
    """Return as much of a user id as tells one person from another in a log: its ends."""
    return f"{sub[:4]}…{sub[-4:]}" if sub else ""


def note(**values: Any) -> None:
    """Keep one finished call; `values` are RequestLog's fields, `at` apart."""
    journal.note(LOG, values | {"at": clock.now().timestamp()})


def _write(entries: list[dict[str, Any]]) -> None:
    """Store entries in the order of their time; those of a project that has gone are dropped."""
    wanted = {entry["project_id"] for entry in entries}
    known = set(Project.objects.filter(pk__in=wanted).values_list("pk", flat=True))
    rows = (_row(entry) for entry in sorted(entries, key=lambda entry: entry["at"]) if entry["project_id"] in known)
    RequestLog.objects.bulk_create(rows, batch_size=500)


def _row(values: dict[str, Any]) -> RequestLog:
    cut = {name: journal.stored(values[name], longest) for name, longest in _LONGEST.items()}
    return RequestLog(**values | cut | {"at": datetime.fromtimestamp(values["at"], UTC)})


journal.register(LOG, _write)
