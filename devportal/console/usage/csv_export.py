"""Usage as CSV, line by line: as much memory for a year as for an hour."""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from api.models import LATENCY_FIELDS, ApiKey
from api.usage import store
from devportal.console.usage.query import UsageQuery
from oidc.models import Client, Project

_HEADER = ("endpoint", "status", "error", "client_id", "client", "key_id", "key", "requests")
# What a spreadsheet would take for the beginning of a formula (OWASP: CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001  (full-width ones, too)


def escape_cell(text: str) -> str:
    """Return a text as no spreadsheet runs it."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def iso_time(moment: datetime) -> str:
    """Return a time in UTC, as every program reads it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class _Echo:
    """Hands back what is written to it."""

    def write(self, text: str) -> str:
        return text


def csv_lines(project: Project, asked: UsageQuery) -> Iterator[str]:
    """Yield the file: what the page counts, in the unit that it counts by, one kind of call a line."""
    since, until = asked.bounds()
    clients = dict(Client.objects.filter(project=project).values_list("client_id", "name"))
    keys = dict(ApiKey.objects.filter(project=project).values_list("public_id", "name"))
    writer: Any = csv.writer(_Echo())
    yield writer.writerow([f"{asked.span.unit}_utc", *_HEADER, *LATENCY_FIELDS])
    for start, row in store.iterate_rows(project, since, until, asked.span.unit, **asked.only):
        who = (row.client, clients.get(row.client, ""), row.credential, keys.get(row.credential, ""))
        latencies = (getattr(row, name) for name in LATENCY_FIELDS)
        texts = (row.endpoint, str(row.status), row.code, *who)
        yield writer.writerow([iso_time(start), *map(escape_cell, texts), row.count, *latencies])


def file_name(project: Project, asked: UsageQuery) -> str:
    """Return what the file is called: of which project, which stretch of time, and until when."""
    _, until = asked.bounds()
    return f"usage-{project.public_id}-{asked.span.name}-until-{until:%Y%m%dT%H%MZ}.csv"
