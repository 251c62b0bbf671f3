"""How often what was called: counted beside the limits, written in batches with the logs, read as series."""

import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing.util import Finalize
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import Sum

from api.models import LATENCY_EDGES_MS, LATENCY_FIELDS, ApiKey, UsageBatch, UsageBucket
from devportal.lib import clock, journal
from devportal.lib.counters import LocalCounters, counters
from oidc.models import Project

log = logging.getLogger(__name__)

LAST_USED_EVERY = timedelta(hours=1)
_SEPARATOR = "|"


@dataclass(frozen=True)
class Whose:
    """Whose a call is: a project's key, by its public id, or an app, by its client id; and the person's user id."""

    project: int
    key: str = ""
    client: str = ""
    sub: str = ""


@dataclass(frozen=True)
class Kind:
    """What a call is counted under; its minute and latency class come beside it."""

    project: int
    credential: str
    client: str
    endpoint: str
    status: int
    code: str


def note(kind: Kind, seconds: float) -> None:
    """Count one finished call; it is written with the next batch."""
    milliseconds = seconds * 1000
    latency = next(
        (place for place, edge in enumerate(LATENCY_EDGES_MS) if milliseconds <= edge), len(LATENCY_EDGES_MS)
    )
    minute = clock.timestamp() // 60
    parts = (kind.project, kind.credential, kind.client, kind.endpoint, kind.status, kind.code, minute, latency)
    counters().finished(_SEPARATOR.join(map(str, parts)))


def flush() -> int:
    """Write every waiting batch into the buckets; return how many calls were written.

    A batch is written once: its id is stored in the same transaction, so one that a crash left behind in Redis after
    it was written is only forgotten.
    """
    written = 0
    for holder, batch_id, counts in counters().drain():
        try:
            with transaction.atomic():
                _, is_new = UsageBatch.objects.get_or_create(batch_id=batch_id)
                if is_new:
                    calls = {field: count for field, count in counts.items() if not journal.is_entry(field)}
                    _add(calls)
                    journal.write(field for field in counts if journal.is_entry(field))
                    written += sum(calls.values())
                else:
                    log.info("The usage batch %s is written already.", batch_id)
        except Exception:
            if isinstance(holder, LocalCounters):
                holder.give_back(counts)
            raise
        holder.settle(batch_id)
    return written


def _add(counts: dict[str, int]) -> None:
    buckets: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * len(LATENCY_FIELDS))
    for field, count in counts.items():
        *place, latency = field.split(_SEPARATOR)
        buckets[tuple(place)][int(latency)] += count
    known = set(Project.objects.filter(pk__in={int(place[0]) for place in buckets}).values_list("pk", flat=True))
    # In one order, so that two writers at once wait for each other and never deadlock.
    rows = [(place, classes) for place, classes in sorted(buckets.items()) if int(place[0]) in known]
    columns = ("project_id", "credential", "client", "endpoint", "status", "code", "minute", "count", *LATENCY_FIELDS)
    table = UsageBucket._meta.db_table
    added = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in ("count", *LATENCY_FIELDS))
    # Not the ORM's upsert: that sets, and two writers have to add. PostgreSQL and SQLite share this statement.
    sql = (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))}) "  # noqa: S608
        f"ON CONFLICT (project_id, minute, credential, client, endpoint, status, code) DO UPDATE SET {added}"
    )
    with connection.cursor() as cursor:
        for (project, credential, client, endpoint, status, code, minute), classes in rows:
            moment = connection.ops.adapt_datetimefield_value(datetime.fromtimestamp(int(minute) * 60, UTC))
            kind = (int(project), credential, client, endpoint, int(status), code, moment)
            cursor.execute(sql, (*kind, sum(classes), *classes))
    _note_keys_used(rows)


def _note_keys_used(rows: Iterable[tuple[tuple[str, ...], list[int]]]) -> None:
    """Set `last_used` of the keys that were used, at most once an hour each."""
    latest: dict[str, int] = {}
    for (_, credential, _, _, _, _, minute), _ in rows:
        if credential:
            latest[credential] = max(latest.get(credential, 0), int(minute))
    for public_id, last_minute in sorted(latest.items()):
        moment = datetime.fromtimestamp(last_minute * 60, UTC)
        keys = ApiKey.objects.filter(public_id=public_id)
        (keys.filter(last_used_at=None) | keys.filter(last_used_at__lt=moment - LAST_USED_EVERY)).update(
            last_used_at=moment
        )


def series(project: Project, since: datetime, until: datetime, *by: str, **only: Any) -> list[dict[str, Any]]:
    """Return counts of a project's calls from `since` to before `until`, summed by the named columns, in their order.

    Without a column there is one total.

    `by` and `only` name columns of UsageBucket (`minute`, `status`, `endpoint`, `client`, `credential`, `code`).
    """
    rows = UsageBucket.objects.filter(project=project, minute__gte=since, minute__lt=until, **only)
    sums = {f"total_{name}": Sum(name) for name in ("count", *LATENCY_FIELDS)}
    if not by:
        return [rows.aggregate(**sums)]
    return list(rows.values(*by).annotate(**sums).order_by(*by))


def flush_at_exit() -> None:
    """Have this process write what it still holds when it stops cleanly (atexit does not run in a worker)."""
    Finalize(None, _flush_last, exitpriority=10)


def _flush_last() -> None:
    try:
        flush()
    except DatabaseError:
        log.exception("What was counted last could not be written: the database is away.")
