"""Counts of sign-ins as CSV, streamed line by line."""

import csv
from collections.abc import Iterator, Sequence
from typing import Any

from devportal.console.analytics import store
from devportal.console.analytics.query import AnalyticsQuery
from devportal.console.usage.csv_export import Echo, escape_cell, iso_time
from oidc.models import Client

# The first lines need not wait until those of a thousand clients are in order.
_CLIENTS_AT_ONCE = 20
_HEADER = ("client_id", "client", "step", "error", "count")


def csv_lines(query: AnalyticsQuery, clients: Sequence[Client]) -> Iterator[str]:
    """Yield the lines of the file: one per client, hour or day, step and error, in this order."""
    since, until = query.bounds
    unit, by_key = query.span.unit, {client.pk: client for client in clients}
    keys = sorted(by_key)
    writer: Any = csv.writer(Echo())
    yield writer.writerow([f"{unit}_utc", *_HEADER])
    for place in range(0, len(keys), _CLIENTS_AT_ONCE):
        rows = store.single_counts(unit, keys[place : place + _CLIENTS_AT_ONCE], since, until)
        for row in rows.iterator(chunk_size=1000):
            client = by_key[row.client_id]
            texts = (client.client_id, client.name, row.step, row.error)
            yield writer.writerow([iso_time(getattr(row, unit)), *map(escape_cell, texts), row.count])


def file_name(name: str, query: AnalyticsQuery) -> str:
    """Return the file name, with the id of the client or project, time range and end."""
    _, until = query.bounds
    return f"sign-ins-{name}-{query.span.name}-until-{until:%Y%m%dT%H%MZ}.csv"
