"""Counts by minute, hour and day: whichever table a reader is given, the answer is the same."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from api import usage_counts
from api.models import LATENCY_FIELDS, UsageBucket, UsageDay, UsageHour, UsageTotal
from api.usage_counts import DAYS, HOURS, MINUTES, TOTALS, UsageCount, choose_granularity
from core.limits.counters import Finished, counters
from oidc.models import Project
from tests.factories import make_project

DAY = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def project(db: None) -> Project:
    return make_project()


def some_counts(project: Project, calls: int, seed: int = 7) -> list[UsageCount]:
    """Return counts over three days, of all kinds."""
    chance = random.Random(seed)
    kinds = [(200, ""), (304, ""), (401, "invalid_token"), (429, "rate_limited"), (502, "upstream_unavailable")]
    made = []
    for _ in range(calls):
        status, code = chance.choice(kinds)
        who = chance.choice([("key1", ""), ("key2", ""), ("", "client1"), ("", "client2")])
        minute = int(DAY.timestamp()) // 60 + chance.randrange(3 * 24 * 60)
        endpoint, latency = chance.choice(["me", "me/plan"]), chance.randrange(8)
        made.append(UsageCount(project.pk, *who, endpoint, status, code, minute, latency, chance.randrange(1, 5)))
    return made


@pytest.fixture
def counted(project: Project) -> list[UsageCount]:
    """Counts that are written, in several goes."""
    counts = some_counts(project, 400)
    for place in range(0, len(counts), 70):
        usage_counts.add_counts(counts[place : place + 70])
    return counts


def by_hand(counts: list[UsageCount], since: datetime, until: datetime, *by: str, **only: Any) -> dict[Any, int]:
    """Return calls by the named columns, added up one by one."""
    sums: dict[Any, int] = {}
    for count in counts:
        moment = datetime.fromtimestamp(count.minute * 60, UTC)
        if not since <= moment < until or any(getattr(count, name) != value for name, value in only.items()):
            continue
        times = {
            "minute": moment,
            "hour": moment.replace(minute=0),
            "day": moment.replace(minute=0, hour=0),
        }
        key = tuple(times[name] if name in times else getattr(count, name) for name in by)
        sums[key] = sums.get(key, 0) + count.calls
    return sums


SPANS = [
    (DAY, DAY + timedelta(days=3)),
    (DAY + timedelta(days=1), DAY + timedelta(days=2)),
    (DAY + 5 * HOUR, DAY + 30 * HOUR),
    (DAY + timedelta(minutes=7), DAY + timedelta(hours=40, minutes=11)),
]
QUESTIONS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("status",), {}),
    (("day", "status"), {}),
    (("hour", "status", "endpoint"), {}),
    (("minute",), {}),
    (("client",), {}),
    (("credential", "code"), {"endpoint": "me"}),
    (("hour",), {"client": "client1"}),
    (("day",), {"credential": "key2", "status": 429}),
    (("day", "client"), {}),
]


@pytest.mark.parametrize(("since", "until"), SPANS)
def test_every_table_gives_the_same_answer(
    since: datetime, until: datetime, project: Project, counted: list[UsageCount]
) -> None:
    for by, only in QUESTIONS:
        rows = usage_counts.series(project, since, until, *by, **only)
        found = [(tuple(row[name] for name in by), row["total_count"]) for row in rows]
        assert dict(found) == by_hand(counted, since, until, *by, **only), by
        assert found == sorted(found)
        for row in rows:
            assert sum(row[f"total_{name}"] for name in LATENCY_FIELDS) == row["total_count"]
    (row,) = usage_counts.series(project, since, until, client="client1")
    assert row["total_count"] == by_hand(counted, since, until, client="client1")[()]


def test_nothing_was_counted(project: Project) -> None:
    (row,) = usage_counts.series(project, DAY, DAY + HOUR)
    assert row["total_count"] is None
    assert usage_counts.series(project, DAY, DAY + HOUR, "status") == []


def test_the_coarsest_table_that_is_exact_is_read() -> None:
    day, hour = timedelta(days=1), HOUR
    assert choose_granularity(DAY, DAY + 30 * day, ["client"]) is DAYS
    assert choose_granularity(DAY, DAY + 30 * day, ["day", "credential"]) is DAYS
    assert choose_granularity(DAY, DAY + 30 * day, ["hour", "credential"]) is HOURS
    assert choose_granularity(DAY + hour, DAY + day, ["client"]) is HOURS
    assert choose_granularity(DAY, DAY + 30 * day, ["status"]) is TOTALS
    assert choose_granularity(DAY + hour, DAY + day, []) is TOTALS
    assert choose_granularity(DAY, DAY + day, ["minute"]) is MINUTES
    assert choose_granularity(DAY + timedelta(minutes=1), DAY + day, ["client"]) is MINUTES


def test_another_projects_calls_are_not_this_ones(project: Project, counted: list[UsageCount]) -> None:
    other = make_project()
    usage_counts.add_counts(some_counts(other, 50, seed=8))
    assert {row["client"] for row in usage_counts.series(project, *SPANS[0], "client")} == {"", "client1", "client2"}
    before = by_hand(counted, *SPANS[0], "client")
    assert {(r["client"],): r["total_count"] for r in usage_counts.series(project, *SPANS[0], "client")} == before


def test_the_busiest_callers_come_first(project: Project, counted: list[UsageCount]) -> None:
    for since, until in SPANS:
        sums = by_hand(counted, since, until, "credential", "client")
        errors = by_hand([count for count in counted if count.status >= 400], since, until, "credential", "client")
        rows = usage_counts.by_caller(project, since, until)
        assert [(row["credential"], row["client"]) for row in rows] == sorted(sums, key=lambda who: (-sums[who], who))
        for row in rows:
            who = (row["credential"], row["client"])
            assert (row["total_count"], row["errors"]) == (sums[who], errors.get(who, 0))
            assert sum(row[f"total_{name}"] for name in LATENCY_FIELDS) == row["total_count"]


def test_a_batch_of_many_kinds_is_a_handful_of_statements(project: Project) -> None:
    minute = int(DAY.timestamp()) // 60
    counts = [UsageCount(project.pk, "", f"c{n}", "me", 200, "", minute, 0, 1) for n in range(1200)]
    with CaptureQueriesContext(connection) as queries:
        usage_counts.add_counts(counts)
    # Three statements for each of three tables, one for the totals, and the look for projects that are there.
    assert len(queries) <= 11
    assert UsageTotal.objects.get().count == 1200
    assert UsageDay.objects.count() == UsageHour.objects.count() == UsageBucket.objects.count() == 1200


# --- What can't be read stops nobody ---


def test_a_count_of_another_version_is_left_out(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    local = counters().local
    good = "|".join(map(str, (project.pk, "key1", "", "me", 200, "", 28_000_000, 0)))
    local.give_back(Finished({good: 2, "garbage": 1, good + "|more": 1, "": 1, "a|b|c|d|e|f|g|h": 1, good + "\x00": 1}))
    assert usage_counts.flush_usage() == 2
    assert usage_counts.flush_usage() == 0
    assert "can't be read" in caplog.text


def test_numbers_and_texts_that_no_call_has(project: Project) -> None:
    good = "|".join(map(str, (project.pk, "key1", "", "me", 200, "", 28_000_000, 0)))
    numbers = ("200||99999999999999999|0", "99999||1|0", "200||1|8", "200||1|-1")
    fields = ["-1||||200||1|0", *(f"{project.pk}|k||me|{number}" for number in numbers)]
    fields += [
        "|".join(map(str, (project.pk, *texts, 28_000_000, 0)))
        for texts in (
            ("k" * 17, "", "me", 200, ""),
            ("", "c" * 256, "me", 200, ""),
            ("", "", "e" * 33, 200, ""),
            ("", "", "me", 200, "c" * 33),
            ("", "a\x00b", "me", 200, ""),
            ("", "\udc80", "me", 200, ""),
        )
    ]
    for field in fields:
        counters().local.give_back(Finished({field: 1, good: 1}))
        assert usage_counts.flush_usage() == 1, field
