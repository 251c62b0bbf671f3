"""The tables of sign-in counts. Each count is added to its hour and its day, in the transaction of its batch.

The batches are those of usage (api/usage_counts.py): each is written once, and a crash has the same effects. Counts of
deleted clients are dropped.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet, Sum

from core.database.batches import delete_in_batches
from core.limits import log_buffer
from devportal.console.models import SignInDay, SignInHour
from oidc.models import Client
from oidc.sign_in_log.steps import KIND, Step

log = logging.getLogger(__name__)

_ROWS_A_STATEMENT = 500
_DAY = timedelta(days=1)
# Client id, hour since 1970, step and error, as written by oidc/sign_in_log/steps.py.
_FIELD = re.compile(r"([!-{}~]{1,255})\|(\d{1,7})\|([a-z_]{1,16})\|([a-z_]{0,40})", re.ASCII)


@dataclass(frozen=True)
class SignInCount:
    """How often a step was taken. `client` is a primary key, `start` a full hour."""

    client: int
    start: datetime
    step: str
    error: str
    count: int


# --- Writing ---


def write_counts(counts: Mapping[str, int]) -> None:
    """Store waiting counts. Call it inside a transaction."""
    read = [(found.groups(), times) for text, times in counts.items() if (found := _read(text)) is not None]
    # If a client is deleted at this moment, the transaction fails and the batch is tried again.
    rows = Client.objects.filter(client_id__in={client_id for (client_id, *_), _ in read})
    known = dict(rows.values_list("client_id", "pk"))
    add_counts(
        SignInCount(known[client_id], datetime.fromtimestamp(int(hour) * 3600, UTC), step, error, times)
        for (client_id, hour, step, error), times in read
        if client_id in known
    )


def _read(text: str) -> "re.Match[str] | None":
    """Parse a count; return None if another version wrote it, so that the other counts are still stored."""
    found = _FIELD.fullmatch(text)
    if found is None:
        log.warning("A count of sign-ins that can't be read is left out: %.200r", text)
    return found


def add_counts(counts: Iterable[SignInCount]) -> None:
    """Add counts to both tables. Call it inside a transaction."""
    hours, days = Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
    for one in counts:
        hours[one.client, one.start, one.step, one.error] += one.count
        days[one.client, one.start.replace(hour=0), one.step, one.error] += one.count
    _add_to(SignInHour._meta.db_table, "hour", hours)
    _add_to(SignInDay._meta.db_table, "day", days)


def _add_to(table: str, time: str, rows: Mapping[tuple[Any, ...], int]) -> None:
    # The ORM's upsert sets values, but two writers have to add theirs. They use the same order to avoid deadlocks.
    columns = f"client_id, {time}, step, error"
    head = f"INSERT INTO {table} ({columns}, count) VALUES "  # noqa: S608  (names are constants)
    tail = f" ON CONFLICT ({columns}) DO UPDATE SET count = {table}.count + excluded.count"
    ordered = iter(sorted(rows.items()))
    with connection.cursor() as cursor:
        while some := list(islice(ordered, _ROWS_A_STATEMENT)):
            values: list[Any] = []
            for (client, start, step, error), times in some:
                values += [client, connection.ops.adapt_datetimefield_value(start), step, error, times]
            cursor.execute(f"{head}{', '.join(['(%s, %s, %s, %s, %s)'] * len(some))}{tail}", values)


def clear(now: datetime) -> int:
    """Delete counts that are older than they are kept, by whole days (UTC); return how many were deleted."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    hours = SignInHour.objects.filter(hour__lt=today - settings.SIGN_IN_HOUR_DAYS * _DAY)
    days = SignInDay.objects.filter(day__lt=today - settings.SIGN_IN_COUNT_DAYS * _DAY)
    return delete_in_batches(hours) + delete_in_batches(days)


# --- Reading ---

# The figures of a client in the list of a project's, and the steps that each adds up.
FIGURES: Mapping[str, tuple[Step, ...]] = {
    "started": (Step.STARTED, Step.SILENT),
    "signed_in": (Step.EXCHANGED,),
    "cancelled": (Step.CANCELLED,),
    "refused": (Step.REFUSED, Step.TURNED_AWAY, Step.NOT_EXCHANGED),
    "new_people": (Step.NEW_PERSON,),
}


def sums(
    unit: str, clients: Sequence[int], since: datetime, until: datetime, steps: Iterable[str] = ()
) -> dict[tuple[datetime, str, str], int]:
    """Return the counts of all these clients together, by hour or day, step and error.

    `unit` selects the table, "hour" or "day". The one by day has far fewer rows. With `steps`, only these are counted.
    """
    rows = _rows(unit, clients, since, until)
    if steps:
        rows = rows.filter(step__in=list(steps))
    found = rows.values_list(unit, "step", "error").annotate(times=Sum("count")).order_by()
    return {(start, step, error): times for start, step, error, times in found}


def busiest(unit: str, clients: Sequence[int], since: datetime, until: datetime, most: int) -> list[dict[str, Any]]:
    """Return the FIGURES of the clients with most sign-ins, and `client_id`, a primary key."""
    figures = {name: Sum("count", filter=Q(step__in=steps), default=0) for name, steps in FIGURES.items()}
    counted = [step for steps in FIGURES.values() for step in steps]
    rows = _rows(unit, clients, since, until).filter(step__in=counted).values("client_id").annotate(**figures)
    return list(rows.order_by("-started", "-refused", "client_id")[:most])


def single_counts(unit: str, clients: Sequence[int], since: datetime, until: datetime) -> "QuerySet[Any]":
    """Return the rows of these clients by client, time, step and error."""
    return _rows(unit, clients, since, until).order_by("client_id", unit, "step", "error")


def _rows(unit: str, clients: Sequence[int], since: datetime, until: datetime) -> "QuerySet[Any]":
    model: Any = SignInHour if unit == "hour" else SignInDay
    rows: QuerySet[Any] = model.objects.filter(client__in=clients, **{f"{unit}__gte": since, f"{unit}__lt": until})
    return rows


log_buffer.register_count_writer(KIND, write_counts)
