"""Usage tables: calls by minute, hour and day. Each count is added to all of them, in one transaction.

A reader uses the coarsest table that answers exactly, so that a month of a busy project costs no more than an hour.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Trunc

from api.models import LATENCY_FIELDS, UsageBucket, UsageCounts, UsageCountsByCaller, UsageDay, UsageHour, UsageTotal
from devportal.lib import partitions
from devportal.lib.batches import delete_in_batches
from oidc.models import Project

ROWS_A_STATEMENT = 500
_WHO = ("credential", "client")
_KIND = ("endpoint", "status", "code")
_TIMES = {"minute": 60, "hour": 3600, "day": 86400}
_SUMS = {f"total_{name}": Sum(name) for name in ("count", *LATENCY_FIELDS)}


@dataclass(frozen=True)
class Granularity:
    """One usage table: the period that a row counts, and whether it is split by caller."""

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
# In one order, so that two writers at once wait for each other and never deadlock.
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
    """Add counts to the tables, and return those that were added; counts of deleted projects are dropped.

    Call it inside a transaction.
    """
    wanted = {count.project_id for count in counts}
    # A project that is deleted at this moment makes the transaction fail, and the batch is tried again.
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
    # Not the ORM's upsert: that sets, and two writers have to add. PostgreSQL and SQLite share this statement.
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
    """Delete counts of times before `before`, a midnight; return about how many rows went."""
    gone = partitions.clear_before(UsageBucket, _BY_DAY, before)
    for level in (HOURS, DAYS, TOTALS):
        gone += delete_in_batches(level.model._default_manager.filter(**{f"{level.time}__lt": before}))
    return gone


# --- Reading ---


def choose_granularity(since: datetime, until: datetime, names: Iterable[str]) -> Granularity:
    """Return the coarsest table that answers exactly for a period and these columns."""
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
    """Return counts of a project's calls from `since` to before `until`, summed by the named columns, in their order.

    Without a column there is one total. `by` and `only` name columns: `status`, `endpoint`, `client`, `credential`,
    `code`; `by` also `minute`, `hour` or `day`. Cheap are times that are whole hours or, by client or credential, whole
    days; minutes are for hours, not for months.
    """
    level = choose_granularity(since, until, [*by, *(name.partition("__")[0] for name in only)])
    rows = _rows(level, project, since, until, only)
    coarser = {name: Trunc(level.time, name, tzinfo=UTC) for name in by if name in _TIMES and name != level.time}
    if not by:
        return [rows.aggregate(**_SUMS)]
    return list(rows.annotate(**coarser).values(*by).annotate(**_SUMS).order_by(*by))


def by_caller(project: Project, since: datetime, until: datetime, **only: Any) -> list[dict[str, Any]]:
    """Return the calls of each key (`credential`) and each client, the busiest first.

    Beside the sums of `series` each has `errors`: how many of its calls were refused or failed. One look at the rows
    for both, since a month of a busy project has many.
    """
    level = choose_granularity(since, until, _WHO)
    errors = Sum("count", filter=Q(status__gte=400), default=0)
    rows = _rows(level, project, since, until, only).values(*_WHO).annotate(errors=errors, **_SUMS)
    return list(rows.order_by("-total_count", *_WHO))


def iterate_rows(
    project: Project, since: datetime, until: datetime, unit: str, **only: Any
) -> "Iterator[tuple[datetime, UsageCountsByCaller]]":
    """Yield what is stored by minute, hour or day (`unit`), each row with its time, in the order of time."""
    level = next(level for level in GRANULARITIES if level.by_whom and level.time == unit)
    order = (level.time, *_WHO, *_KIND)
    for row in _rows(level, project, since, until, only).order_by(*order).iterator(chunk_size=1000):
        yield getattr(row, level.time), row
