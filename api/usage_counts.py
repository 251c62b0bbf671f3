"""Usage of the developer API: counted with the limits, stored in batches by minute, hour and day."""

import logging
import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from multiprocessing.util import Finalize
from typing import Any, NamedTuple

from django.db import DatabaseError, connection, connections, transaction
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Trunc

from api import errors, request_log
from api.models import (
    LATENCY_EDGES_MS,
    LATENCY_FIELDS,
    ApiKey,
    UsageBatch,
    UsageBucket,
    UsageCounts,
    UsageCountsByCaller,
    UsageDay,
    UsageHour,
    UsageTotal,
)
from core import clock
from core.database import partitions
from core.database.batches import delete_in_batches
from core.limits import log_buffer
from core.limits.counters import Finished, LocalCounters, RedisCounters, counters
from core.serving.worker_start import at_worker_start
from oidc.models import Project
from oidc.projects.credentials import LAST_USED_INTERVAL

# A reader uses the coarsest table that gives exact results, so a month of a busy project costs the same as an hour.

ROWS_A_STATEMENT = 500
_WHO = ("credential", "client")
_KIND = ("endpoint", "status", "code")
_TIMES = {"minute": 60, "hour": 3600, "day": 86400}
_SUMS = {f"total_{name}": Sum(name) for name in ("count", *LATENCY_FIELDS)}


@dataclass(frozen=True)
class Granularity:
    """A usage table: the period that a row counts, and whether it is split by caller."""

    model: type[UsageCounts]
    time: str
    by_whom: bool

    @property
    def seconds(self) -> int:
        return _TIMES[self.time]

    @property
    def columns(self) -> tuple[str, ...]:
        return ("project_id", self.time, *(_WHO if self.by_whom else ()), *_KIND)


MINUTES = Granularity(UsageBucket, "minute", by_whom=True)
HOURS = Granularity(UsageHour, "hour", by_whom=True)
DAYS = Granularity(UsageDay, "day", by_whom=True)
TOTALS = Granularity(UsageTotal, "hour", by_whom=False)
# Always in this order, so that two writers at once wait for each other and never deadlock.
GRANULARITIES = (MINUTES, HOURS, DAYS, TOTALS)
_BY_DAY = partitions.DailyTable(UsageBucket._meta.db_table, "minute")


# --- Writing ---


@dataclass(frozen=True)
class UsageCount:
    """The calls of one kind in one minute and one latency class (its index in LATENCY_FIELDS)."""

    project_id: int
    credential: str
    client: str
    endpoint: str
    status: int
    code: str
    minute: int  # since 1970
    latency: int
    calls: int


def add_counts(counts: Sequence[UsageCount]) -> list[UsageCount]:
    """Add counts to the tables, and return the ones that were added; counts of deleted projects are dropped.

    Call this inside a transaction.
    """
    wanted = {count.project_id for count in counts}
    # If a project is deleted at this moment, the transaction fails, and the batch is tried again.
    known = set(Project.objects.filter(pk__in=wanted).values_list("pk", flat=True))
    kept = [count for count in counts if count.project_id in known]
    for level in GRANULARITIES:
        _add_to(level, kept)
    return kept


def _add_to(level: Granularity, counts: Iterable[UsageCount]) -> None:
    rows: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0] * len(LATENCY_FIELDS))
    for count in counts:
        start = count.minute * 60 // level.seconds * level.seconds
        key = tuple(start if name == level.time else getattr(count, name) for name in level.columns)
        rows[key][count.latency] += count.calls
    table, sums = level.model._meta.db_table, ("count", *LATENCY_FIELDS)
    columns = (*level.columns, *sums)
    added = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in sums)
    # The ORM's upsert sets values, but two writers have to add. PostgreSQL and SQLite share this statement.
    one = f"({', '.join(['%s'] * len(columns))})"
    head = f"INSERT INTO {table} ({', '.join(columns)}) VALUES "  # noqa: S608  (names are our own)
    tail = f" ON CONFLICT ({', '.join(level.columns)}) DO UPDATE SET {added}"
    place_of_time = level.columns.index(level.time)
    ordered = iter(sorted(rows.items()))
    with connection.cursor() as cursor:
        while batch := list(islice(ordered, ROWS_A_STATEMENT)):
            values: list[Any] = []
            for key, classes in batch:
                moment = connection.ops.adapt_datetimefield_value(datetime.fromtimestamp(key[place_of_time], UTC))
                values += [*key[:place_of_time], moment, *key[place_of_time + 1 :], sum(classes), *classes]
            cursor.execute(f"{head}{', '.join([one] * len(batch))}{tail}", values)


def clear_before(before: datetime) -> int:
    """Delete counts before `before`, a midnight; return the approximate number of deleted rows."""
    gone = partitions.clear_before(UsageBucket, _BY_DAY, before)
    for level in (HOURS, DAYS, TOTALS):
        gone += delete_in_batches(level.model._default_manager.filter(**{f"{level.time}__lt": before}))
    return gone


# --- Reading ---


def choose_granularity(since: datetime, until: datetime, names: Iterable[str]) -> Granularity:
    """Return the coarsest table that gives exact results for a period and these columns."""
    asked = set(names)
    times = asked & set(_TIMES)
    finest = min((_TIMES[name] for name in times), default=_TIMES["day"])
    by_whom = bool(asked & set(_WHO))
    for level in (DAYS, HOURS) if by_whom else (TOTALS,):
        whole = all(moment.timestamp() % level.seconds == 0 for moment in (since, until))
        if whole and level.seconds <= finest:
            return level
    return MINUTES


def _rows(
    level: Granularity, project: Project, since: datetime, until: datetime, only: dict[str, Any]
) -> "QuerySet[Any]":
    span = {f"{level.time}__gte": since, f"{level.time}__lt": until}
    return level.model._default_manager.filter(project=project, **span, **only)


def series(project: Project, since: datetime, until: datetime, *by: str, **only: Any) -> list[dict[str, Any]]:
    """Return counts of a project's calls from `since` to before `until`, summed and ordered by the named columns.

    Without a column there is one total. `by` and `only` name columns: `status`, `endpoint`, `client`, `credential`,
    `code`; `by` also `minute`, `hour` or `day`. Periods of whole hours are cheap, and by client or credential, periods
    of whole days. Use minutes for periods of hours, not of months.
    """
    level = choose_granularity(since, until, [*by, *(name.partition("__")[0] for name in only)])
    rows = _rows(level, project, since, until, only)
    coarser = {name: Trunc(level.time, name, tzinfo=UTC) for name in by if name in _TIMES and name != level.time}
    if not by:
        return [rows.aggregate(**_SUMS)]
    return list(rows.annotate(**coarser).values(*by).annotate(**_SUMS).order_by(*by))


def by_caller(project: Project, since: datetime, until: datetime, **only: Any) -> list[dict[str, Any]]:
    """Return the calls of each key (`credential`) and each client, the busiest first.

    Besides the sums of `series`, each has `errors`: how many of its calls were refused or failed. Both come from one
    query, since a month of a busy project has many rows.
    """
    level = choose_granularity(since, until, _WHO)
    errors = Sum("count", filter=Q(status__gte=400), default=0)
    rows = _rows(level, project, since, until, only).values(*_WHO).annotate(errors=errors, **_SUMS)
    return list(rows.order_by("-total_count", *_WHO))


def iterate_rows(
    project: Project, since: datetime, until: datetime, unit: str, **only: Any
) -> "Iterator[tuple[datetime, UsageCountsByCaller]]":
    """Yield the stored rows by minute, hour or day (`unit`), each with its time, ordered by time."""
    level = next(level for level in GRANULARITIES if level.by_whom and level.time == unit)
    order = (level.time, *_WHO, *_KIND)
    for row in _rows(level, project, since, until, only).order_by(*order).iterator(chunk_size=1000):
        yield getattr(row, level.time), row


__all__ = ["CallLabels", "CallOwner", "flush_at_exit", "flush_usage", "record_call", "send_when_idle", "series"]

log = logging.getLogger(__name__)

# The longest time that a finished call waits in a process for a request to be sent with, and the timer's interval.
IDLE_SECONDS = 5.0
TICK_SECONDS = 2.0
_SEPARATOR = "|"
# A field in the format of `record_call`: project, key, client, endpoint, status, code, minute, latency class.
_FIELD = re.compile(
    r"(\d{1,18})\|([!-{}~]{0,16})\|([!-{}~]{0,255})\|([!-{}~]{1,32})\|(\d{3})\|([!-{}~]{0,32})\|(\d{1,9})\|([0-7])",
    re.ASCII,
)


class CallOwner(NamedTuple):
    """The caller of a finished call: project, public id of the key or client id, and the person's `sub`.

    The project is None if the caller has not proven that they have the key, or a token of the client. Such a call is
    logged, but not counted.
    """

    project: int | None
    key: str = ""
    client: str = ""
    sub: str = ""


class CallLabels(NamedTuple):
    """The dimensions that a call is counted by, besides minute and latency class."""

    project: int
    credential: str
    client: str
    endpoint: str
    status: int
    code: str


def record_call(kind: CallLabels, seconds: float) -> None:
    """Count one finished call, which took `seconds`; it is stored with the next batch."""
    milliseconds = seconds * 1000
    latency = next(
        (place for place, edge in enumerate(LATENCY_EDGES_MS) if milliseconds <= edge), len(LATENCY_EDGES_MS)
    )
    minute = clock.timestamp() // 60
    parts = (kind.project, kind.credential, kind.client, kind.endpoint, kind.status, kind.code, minute, latency)
    counters().finished(_SEPARATOR.join(map(str, parts)))


def flush_usage() -> int:
    """Store every waiting batch; return the number of calls in them.

    A batch is written once. Its id is stored in the same transaction, so a batch that was written and then left behind
    in Redis by a crash is only deleted there.
    """
    return _write_batches(counters().drain())


def _write_batches(batches: Iterable[tuple[LocalCounters | RedisCounters, str, Finished]]) -> int:
    written = 0
    for holder, batch_id, finished in batches:
        try:
            with transaction.atomic():
                _, is_new = UsageBatch.objects.get_or_create(batch_id=batch_id)
                if is_new:
                    written += _write(finished)
                else:
                    log.info("The usage batch %s was already written.", batch_id)
        except Exception:
            if isinstance(holder, LocalCounters):
                holder.give_back(finished)
            raise
        holder.settle(batch_id)
    return written


def _write(finished: Finished) -> int:
    """Write counts and log entries; return how many calls there were."""
    of_calls = log_buffer.write_counts(finished.counts)
    counts = [_count(field, calls) for field, calls in of_calls.items()]
    readable = [count for count in counts if count is not None]
    addresses = request_log.addresses_of_keys(finished.entries)
    if finished.counts:
        _note_keys_used(add_counts(readable), addresses)
    elif addresses:
        _note_addresses(addresses)
    log_buffer.write_entries(finished.entries)
    return sum(count.calls for count in readable)


def _count(field: str, calls: int) -> UsageCount | None:
    """Parse a field; return None for one of another version, so that it does not stop the others."""
    found = _FIELD.fullmatch(field)
    if found is None:
        log.warning("Skipped a count that can't be read: %.200r", field)
        return None
    project, credential, client, endpoint, status, code, minute, latency = found.groups()
    return UsageCount(int(project), credential, client, endpoint, int(status), code, int(minute), int(latency), calls)


def _note_keys_used(counts: Iterable[UsageCount], addresses: dict[str, str]) -> None:
    """Set when and from which IP address accepted keys were last used, at most once an hour for each key."""
    latest: dict[str, int] = {}
    for count in counts:
        if count.credential and count.code not in errors.DEAD_CREDENTIAL:
            latest[count.credential] = max(latest.get(count.credential, 0), count.minute)
    for public_id, last_minute in sorted(latest.items()):
        moment = datetime.fromtimestamp(last_minute * 60, UTC)
        keys = ApiKey.objects.filter(public_id=public_id)
        # With Redis, the address is unknown until a later batch brings it to `_note_addresses`.
        (keys.filter(last_used_at=None) | keys.filter(last_used_at__lt=moment - LAST_USED_INTERVAL)).update(
            last_used_at=moment, last_used_address=addresses.get(public_id)
        )


def _note_addresses(addresses: dict[str, str]) -> None:
    """Set the IP addresses of last uses that an earlier batch has noted: from Redis, entries come after the counts."""
    unknown = ApiKey.objects.filter(public_id__in=addresses, last_used_address=None).exclude(last_used_at=None)
    for public_id in sorted(unknown.values_list("public_id", flat=True)):
        unknown.filter(public_id=public_id).update(last_used_address=addresses[public_id])


@at_worker_start
def send_when_idle() -> None:
    """Start a timer that sends the counts that wait in this process, whether or not another request comes."""
    if counters().shared is not None:
        threading.Thread(target=_send_for_ever, daemon=True, name="usage").start()


def _send_for_ever() -> None:
    while True:
        time.sleep(TICK_SECONDS)
        try:
            send_late()
        except Exception:
            log.exception("The counts of this process could not be written. They are tried again.")


def send_late() -> None:
    """Send counts that have waited for IDLE_SECONDS to Redis; without Redis, write this process's counts."""
    here = counters()
    here.send_waiting(IDLE_SECONDS)
    if here.breaker.is_open and here.local.fields:
        try:
            _write_batches(here.drain_here())
        finally:
            connections.close_all()  # this thread's connections, which it doesn't need while Redis responds


@at_worker_start
def flush_at_exit() -> None:
    """Store the counts when this process stops cleanly (`atexit` does not run in a granian worker)."""
    Finalize(None, _flush_last, exitpriority=10)


def _flush_last() -> None:
    try:
        flush_usage()
    except DatabaseError:
        log.exception("The last counts could not be written: the database does not respond.")
