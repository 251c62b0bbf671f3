"""Usage: every call of a known caller is counted once, refusals as errors, and read as series."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounts.models import Account
from api import keys, tasks, usage_counts
from api.models import LATENCY_FIELDS, ApiKey, UsageBucket
from core import clock
from oidc.authorization import consent
from oidc.models import Client, Connection, Project
from tests.api.calls import ME, PLAN, call
from tests.api.conftest import Key, Mover
from tests.factories import make_key, make_project


def buckets(**only: Any) -> list[tuple[Any, ...]]:
    """Return what is written, as (credential, client, endpoint, status, code, count)."""
    rows = UsageBucket.objects.filter(**only).order_by("pk")
    return list(rows.values_list("credential", "client", "endpoint", "status", "code", "count"))


# --- What is counted ---


def test_a_call_is_counted_under_its_kind(key: Key, mid_minute: Mover) -> None:
    minute = clock.now().replace(second=0, microsecond=0)
    call(ME, key.raw)
    call(ME, key.raw)
    call(PLAN, key.raw)
    assert usage_counts.flush_usage() == 3
    public_id = key.row.public_id
    assert sorted(buckets()) == [(public_id, "", "me", 200, "", 2), (public_id, "", "me/plan", 200, "", 1)]
    row = UsageBucket.objects.get(endpoint="me")
    assert (row.project, row.minute) == (key.project, minute)
    assert sum(getattr(row, name) for name in LATENCY_FIELDS) == row.count


def test_an_apps_call_is_counted_under_the_app(token: str, spa: Client) -> None:
    call(ME, token)
    call(PLAN, token)
    usage_counts.flush_usage()
    assert sorted(buckets(project=spa.project)) == [
        ("", spa.client_id, "me", 200, "", 1),
        ("", spa.client_id, "me/plan", 403, "insufficient_scope", 1),
    ]


def test_a_plan_that_is_unchanged_is_a_call(key: Key) -> None:
    etag = call(PLAN, key.raw)["ETag"]
    call(PLAN, key.raw, **{"If-None-Match": etag})
    usage_counts.flush_usage()
    assert sorted((status, code) for *_, status, code, _ in buckets()) == [(200, ""), (304, "")]


def test_dead_keys_are_counted_where_their_developer_sees_it(key: Key) -> None:
    keys.API_KEYS.revoke(key.row)
    call(ME, key.raw)
    Project.objects.update(suspended_at=clock.now())
    ApiKey.objects.update(revoked_at=None)
    call(ME, key.raw)
    usage_counts.flush_usage()
    public_id = key.row.public_id
    assert sorted(buckets(project=key.project)) == [
        (public_id, "", "me", 401, "invalid_api_key", 1),
        (public_id, "", "me", 401, "project_suspended", 1),
    ]


def test_dead_tokens_are_counted_too(token: str, spa: Client) -> None:
    consent.remove_consent(Connection.objects.get())
    call(ME, token)
    usage_counts.flush_usage()
    assert buckets(project=spa.project) == [("", spa.client_id, "me", 401, "invalid_token", 1)]


def test_calls_without_a_project_are_not_counted(key: Key) -> None:
    for path, credential in ((ME, None), (ME, "op_key_x"), (ME, "x"), (ME, key.raw + "x"), ("/v1/x", None)):
        call(path, credential)
    assert usage_counts.flush_usage() == 0
    assert buckets() == []


def test_the_minute_is_that_of_the_call(key: Key, mid_minute: Mover) -> None:
    for _ in range(3):
        call(ME, key.raw)
        mid_minute(60)
    usage_counts.flush_usage()
    minutes = UsageBucket.objects.order_by("minute").values_list("minute", flat=True)
    assert [later - minutes[0] for later in minutes] == [timedelta(minutes=n) for n in range(3)]


@pytest.mark.parametrize(
    ("seconds", "column"),
    [
        (0, "ms_5"),
        (0.005, "ms_5"),
        (0.0051, "ms_10"),
        (1.0001, "ms_more"),
    ],
)
def test_how_long_it_took(seconds: float, column: str, key: Key) -> None:
    usage_counts.record_call(usage_counts.CallLabels(key.project.pk, "k", "", "me", 200, ""), seconds)
    usage_counts.flush_usage()
    row = UsageBucket.objects.values(*LATENCY_FIELDS).get()
    assert {name for name, count in row.items() if count} == {column}


# --- When a key was last used ---


def used(key: Key) -> datetime | None:
    return ApiKey.objects.get(pk=key.row.pk).last_used_at


def test_the_last_use_is_noted_at_most_hourly(key: Key, mid_minute: Mover) -> None:
    assert used(key) is None
    call(ME, key.raw)
    usage_counts.flush_usage()
    first = used(key)
    assert first is not None
    for minutes, expected in ((30, first), (29, first), (3, first + timedelta(minutes=62))):
        mid_minute(minutes * 60)
        call(ME, key.raw)
        usage_counts.flush_usage()
        assert used(key) == expected, minutes


def test_another_keys_use_is_not_this_ones(key: Key) -> None:
    _, raw = make_key(key.project, key.owner)
    call(ME, raw)
    usage_counts.flush_usage()
    assert used(key) is None


# --- Reading, and clearing ---


def test_series(key: Key, person: Account, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE = 2
    began = clock.now().replace(second=0, microsecond=0)
    other = make_key(make_project(person), person)[1]
    for _ in range(3):
        for _ in range(3):
            call(ME, key.raw)
        call(PLAN, other)
        mid_minute(60)
    usage_counts.flush_usage()
    until = began + timedelta(minutes=3)

    by_minute = usage_counts.series(key.project, began, until, "minute")
    assert [(row["minute"], row["total_count"]) for row in by_minute] == [
        (began + timedelta(minutes=n), 3) for n in range(3)
    ]
    by_status = usage_counts.series(key.project, began, until, "status", "code")
    assert [(row["status"], row["code"], row["total_count"]) for row in by_status] == [
        (200, "", 6),
        (429, "rate_limited", 3),
    ]
    # From `since` on, and before `until`.
    inner = usage_counts.series(key.project, began + timedelta(minutes=1), until - timedelta(minutes=1), "endpoint")
    assert [(row["endpoint"], row["total_count"]) for row in inner] == [("me", 3)]
    assert usage_counts.series(key.project, began, until, "endpoint", status=429)[0]["total_count"] == 3
    assert usage_counts.series(key.project, until, until + timedelta(days=1), "minute") == []
    (summed,) = usage_counts.series(key.project, began, until, "project")
    assert sum(summed[f"total_{name}"] for name in LATENCY_FIELDS) == summed["total_count"] == 9


def test_old_counts_are_cleared_by_whole_days(key: Key, settings: Any, later: Mover) -> None:
    call(ME, key.raw)
    usage_counts.flush_usage()
    assert tasks.clear_usage() == 0
    later(8 * 24 * 3600)
    assert tasks.clear_usage() == 1  # the batch's id
    later((settings.USAGE_DAYS - 8) * 24 * 3600)
    # The day on which they end is kept whole, so that minutes, hours and days agree.
    assert tasks.clear_usage() == 0
    later(24 * 3600)
    assert tasks.clear_usage() == 4
    assert not UsageBucket.objects.exists()


def test_the_task_flushes(key: Key) -> None:
    call(ME, key.raw)
    assert tasks.flush_usage() == 1


def test_a_slow_call_shows_in_its_class(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.perf_counter
    readings = iter((real(), real() + 0.2))
    monkeypatch.setattr("api.endpoint.time", type("Time", (), {"perf_counter": staticmethod(lambda: next(readings))}))
    call(ME, key.raw)
    usage_counts.flush_usage()
    assert UsageBucket.objects.get(minute__lte=datetime.now(UTC)).ms_250 == 1
