"""The request log: one row a call, written with the counts; never a credential or a person, whatever is sent."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from api import keys, request_log, tasks, usage_counts
from api.models import RequestLog, UsageBucket
from core import clock
from core.limits import counters, log_buffer
from core.limits.counters import Finished
from oidc.models import Client, Connection, Project
from tests.api.calls import ME, PLAN, call
from tests.api.conftest import Key
from tests.factories import make_key, make_project

Mover = Callable[[float], None]


def rows(**only: Any) -> list[RequestLog]:
    """Return what is written, the oldest first."""
    usage_counts.flush_usage()
    return list(RequestLog.objects.filter(**only).order_by("pk"))


def the_row() -> RequestLog:
    (row,) = rows()
    return row


# --- What it says ---


def test_a_call_of_a_key(key: Key) -> None:
    before = clock.now()
    response = call(ME, key.raw)
    row = the_row()
    assert (row.project, row.method, row.path, row.status, row.code) == (key.project, "GET", "/v1/me", 200, "")
    assert (row.credential, row.client) == (key.row.public_id, "")
    assert row.request_id == response["X-Request-ID"]
    assert before <= row.at <= clock.now()
    assert 0 <= row.milliseconds < 10_000
    sub = response.json()["id"]
    assert row.subject == f"{sub[:4]}…{sub[-4:]}"


def test_a_call_of_an_app(token: str, spa: Client) -> None:
    call(PLAN, token)
    row = the_row()
    assert (row.credential, row.client, row.path) == ("", spa.client_id, "/v1/me/plan")
    assert (row.status, row.code) == (403, "insufficient_scope")


def test_a_call_that_is_refused(key: Key) -> None:
    keys.API_KEYS.revoke(key.row)
    call(ME, key.raw)
    row = the_row()
    assert (row.status, row.code, row.credential, row.subject) == (401, "invalid_api_key", key.row.public_id, "")


@pytest.mark.parametrize("ended", [False, True], ids=["beyond the limit", "revoked"])
def test_a_flood_of_rejected_calls_is_counted_but_not_stored_call_by_call(
    key: Key, settings: Any, monkeypatch: pytest.MonkeyPatch, stopped_clock: None, ended: bool
) -> None:
    """Nothing stops these calls, so without a bound a single caller could fill the table."""
    monkeypatch.setattr(request_log, "REFUSED_PER_MINUTE", 3)
    settings.API_CALLS_PER_MINUTE = 2
    if ended:
        keys.API_KEYS.revoke(key.row)
    codes = [call(ME, key.raw).status_code for _ in range(8)]
    assert codes == [401] * 8 if ended else [200] * 2 + [429] * 6
    assert len(rows()) == (3 if ended else 5)
    assert sum(UsageBucket.objects.values_list("count", flat=True)) == 8


def test_calls_without_a_credential_are_not_logged(key: Key) -> None:
    for path in (ME, "/v1/none"):
        call(path, None)
        call(path, None, "POST")
    assert rows() == []


def test_calls_with_an_unknown_credential_are_logged_without_a_project(key: Key) -> None:
    for path, credential in ((ME, "x"), (ME, "op_key_x"), ("/v1/none", "x")):
        call(path, credential)
        call(path, credential, "POST")
    assert [(row.project, row.code) for row in rows()] == [
        (None, "invalid_token"),
        (None, "method_not_allowed"),
        (None, "invalid_api_key"),
        (None, "method_not_allowed"),
        (None, "not_found"),
        (None, "not_found"),
    ]


def test_the_log_agrees_with_the_counts(key: Key, token: str) -> None:
    for credential in (key.raw, token, key.raw, "x"):
        for path in (ME, PLAN):
            call(path, credential)
    assert (
        usage_counts.flush_usage()
        == RequestLog.objects.filter(is_counted=True).count()
        == sum(UsageBucket.objects.values_list("count", flat=True))
        == 6
    )


@pytest.mark.parametrize(
    ("sub", "shown"), [("", ""), ("abc", "…"), ("abcdefghijklmno", "…"), ("abcdefghijklmnop", "abcd…mnop")]
)
def test_how_a_user_id_is_masked(sub: str, shown: str) -> None:
    assert request_log.mask_subject(sub) == shown


# --- What it never says ---


def test_no_credential_and_no_person(key: Key, token: str, person: Account) -> None:
    sub = Connection.objects.get().subject
    assert sub is not None
    for credential in (key.raw, token):
        for path in (ME, f"{ME}?access_token={credential}&email={person.email}", f"{PLAN}?{credential}"):
            call(path, credential, Cookie=f"a={credential}", **{"User-Agent": person.email, "X-Api-Key": credential})
    call(ME, key.raw, **{"X-Request-ID": key.raw[:64]})
    held = counters.counters()
    waiting = json.dumps([*held._finished, *held._entries, *held.local._usage, *held.local._entries])
    assert "/v1/me" in waiting
    usage_counts.flush_usage()
    assert RequestLog.objects.count() == 7
    stored = json.dumps([[str(value) for value in row] for row in RequestLog.objects.values_list()])
    secrets = {"key": key.raw, "token": token, "email": person.email, "sub": sub.sub, "name": person.given_name}
    secrets |= {"most of a key": key.raw[10:60], "half a key": key.raw[len(key.raw) // 2 :], "digest": key.row.digest}
    for text in (waiting, stored):
        assert [name for name, secret in secrets.items() if secret in text] == []


# --- Whatever comes ---


def entry(project: Project, **changes: Any) -> str:
    """Return an entry as it waits to be written."""
    values = {
        "project_id": project.pk,
        "at": 1_790_000_000.5,
        "method": "GET",
        "path": ME,
        "status": 200,
        "code": "",
        "milliseconds": 3,
        "credential": "k",
        "client": "",
        "subject": "",
        "request_id": "r",
    }
    return json.dumps(["request", {**values, **changes}])


def hold(*entries: str) -> None:
    counters.counters().local.give_back(Finished(entries=entries))


TOO_MUCH: list[dict[str, Any]] = [
    {"path": "/v1/\x00me"},
    {"path": "/v1/\udc80"},
    {"path": "/" * 1_000_000},
    {"path": "é" * 100},
    {"path": ["a", "list"]},
    {"path": None},
    {"method": "A" * 1000},
    {"method": "\U0001f600" * 8},
    {"request_id": "\x00" * 100},
    {"request_id": "x" * 10_000},
    {"code": "c" * 100},
    {"client": "c" * 1000},
    {"credential": "k" * 100},
    {"status": -1},
    {"status": 10**12},
    {"milliseconds": -5},
    {"milliseconds": 10**18},
    {"milliseconds": 2.7},
    {"subject": "s" * 100},
    {"something": "of a newer version"},
]


def test_values_that_no_column_takes_are_made_to_fit(key: Key) -> None:
    texts = ["method", "path", "code", "client", "credential", "subject", "request_id"]
    for changes in TOO_MUCH:
        RequestLog.objects.all().delete()
        hold(entry(key.project, **changes))
        row = the_row()
        row.full_clean(exclude=texts)
        for name in texts:
            longest = RequestLog._meta.get_field(name).max_length  # type: ignore[union-attr]
            assert len(getattr(row, name)) <= longest, (name, changes)  # type: ignore[operator]


UNFIT: list[dict[str, Any]] = [
    {"status": "x"},
    {"status": None},
    {"milliseconds": "NaN"},
    {"at": None},
    {"at": "yesterday"},
    {"at": 1e30},
    {"at": float("nan")},
    {"project_id": "x"},
    {"project_id": [1]},
    {"project_id": 10**30},
    {"project_id": -1},
    {"milliseconds": float("inf")},
]


def test_entries_that_can_not_be_made_to_fit_stop_no_other(key: Key) -> None:
    for changes in UNFIT:
        RequestLog.objects.all().delete()
        hold(entry(key.project, **changes), entry(key.project, request_id="good"))
        assert the_row().request_id == "good", changes
        assert usage_counts.flush_usage() == 0


def test_an_entry_without_a_value_that_it_needs_stops_no_other(key: Key) -> None:
    whole = json.loads(entry(key.project))[1]
    for name in whole:
        less = {other: value for other, value in whole.items() if other != name}
        hold(json.dumps(["request", less]))
    hold(entry(key.project, request_id="good"))
    assert "good" in [row.request_id for row in rows()]


UNREADABLE = [
    "",
    "{}",
    "null",
    '["request"]',
    '["request",{}]',
    '["request",[]]',
    '["request",null]',
    '[["request"],{"at":1}]',
    '["nobody\'s",{"at":1}]',
    '["request",{"at":1}]',
    '["sign_in",{"at":1}]',
    '["sign_in",{"at":1,"client":["x"]}]',
    "[" * 100_000,
    "\x00",
]


def test_unreadable_entries_do_not_block_others(key: Key) -> None:
    for number, text in enumerate(UNREADABLE, 1):
        hold(text, entry(key.project))
        assert len(rows()) == number, text[:40]


def test_entries_stand_in_the_order_of_time(key: Key) -> None:
    hold(*(entry(key.project, at=1_790_000_000 + n, request_id=str(n)) for n in (3, 1, 2, 0)))
    assert [row.request_id for row in rows()] == ["0", "1", "2", "3"]


def test_two_calls_that_are_alike_in_everything_are_two(key: Key) -> None:
    hold(*3 * [entry(key.project)])
    assert len(rows()) == 3


def test_the_entries_of_a_project_that_has_gone_go_with_it(key: Key) -> None:
    other = make_project()
    hold(entry(other), entry(key.project))
    other.delete()
    assert [row.project for row in rows()] == [key.project]


def test_a_project_takes_its_log_with_it(key: Key) -> None:
    call(ME, key.raw)
    usage_counts.flush_usage()
    key.project.delete()
    assert not RequestLog.objects.exists()


# --- Once, and bounded ---


def test_a_failure_writes_neither_counts_nor_entries_and_loses_none(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    call(ME, key.raw)

    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(RequestLog.objects, "bulk_create", fail)
        with pytest.raises(RuntimeError):
            usage_counts.flush_usage()
    assert not UsageBucket.objects.exists()
    assert usage_counts.flush_usage() == 1
    assert RequestLog.objects.count() == 1


def test_entries_stop_at_a_bound_and_counts_go_on(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "MOST_ENTRIES", 5)
    for _ in range(20):
        call(ME, key.raw)
    assert usage_counts.flush_usage() == 20
    assert 0 < RequestLog.objects.count() <= 6
    # Once they are written there is room again.
    call(ME, key.raw)
    before = RequestLog.objects.count()
    assert usage_counts.flush_usage() == 1
    assert RequestLog.objects.count() == before + 1


def test_a_thousand_entries_are_a_handful_of_statements(key: Key) -> None:
    hold(*(entry(key.project, request_id=str(n)) for n in range(1000)))
    with CaptureQueriesContext(connection) as queries:
        usage_counts.flush_usage()
    assert RequestLog.objects.count() == 1000
    inserts = [query["sql"] for query in queries if query["sql"].startswith('INSERT INTO "api_requestlog"')]
    assert len(inserts) <= 15  # SQLite takes fewer values in one


def test_old_entries_are_cleared(key: Key, settings: Any, later: Mover) -> None:
    call(ME, key.raw)
    usage_counts.flush_usage()
    later(timedelta(days=settings.REQUEST_LOG_DAYS).total_seconds() - 60)
    assert tasks.clear_request_log() == 0
    later(timedelta(days=1).total_seconds())  # on PostgreSQL a day goes whole
    assert tasks.clear_request_log() == 1


def test_another_projects_calls_are_in_its_own_log(key: Key, person: Account) -> None:
    other = make_project(person)
    call(ME, make_key(other, person)[1])
    call(ME, key.raw)
    assert len(rows(project=other)) == len(rows(project=key.project)) == 1


# --- The journal itself ---


@pytest.mark.parametrize(
    ("text", "longest", "kept"),
    [
        ("abc", 2, "ab"),
        ("é" * 3, 5, "éé"),
        ("a\x00b", 10, "a\N{REPLACEMENT CHARACTER}b"),
        ("a\udc80b", 10, "a?b"),
        ("\U0001f600", 3, ""),
        ("", 5, ""),
    ],
)
def test_texts_are_cut_by_bytes_and_never_in_a_character(text: str, longest: int, kept: str) -> None:
    assert log_buffer.storable_text(text, longest) == kept


def test_times_are_kept_to_the_microsecond() -> None:
    at = datetime(2026, 11, 21, 4, 5, 6, 123456, tzinfo=UTC)
    made = log_buffer.build_row(RequestLog, {"at": at.timestamp(), "status": 200, "milliseconds": 1, "project_id": 1})
    assert made is not None
    assert abs(made.at - at) < timedelta(microseconds=2)
