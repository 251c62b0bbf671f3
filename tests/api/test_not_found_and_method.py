"""Calls of a path that is no endpoint, or by a method that it has not: 404 and 405 to everyone, and whose they are."""

from typing import Any

import pytest
from django.db import OperationalError

from api import authentication, keys, request_log, usage_counts
from api.models import RequestLog, UsageBucket
from devportal.console.logs import request_log as shown
from oidc.models import Client
from tests.api.calls import ME, PLAN, call, refusal
from tests.api.conftest import Key, Mover

NOT_FOUND, WRONG_METHOD = (404, "not_found"), (405, "method_not_allowed")
MISFITS = [
    ("/v1/zzz", "GET", "(none)", NOT_FOUND),
    ("/v1", "GET", "(none)", NOT_FOUND),
    ("/v1/me/", "DELETE", "(none)", NOT_FOUND),
    (ME, "POST", "me", WRONG_METHOD),
    (PLAN, "PUT", "me/plan", WRONG_METHOD),
    ("/v1/openapi.json", "POST", "openapi.json", WRONG_METHOD),
]
Queries = Any


def counts() -> list[tuple[Any, ...]]:
    usage_counts.flush_usage()
    rows = UsageBucket.objects.order_by("pk")
    return list(rows.values_list("credential", "client", "endpoint", "status", "code", "count"))


# --- Whose they are ---


@pytest.mark.parametrize(("path", "method", "endpoint", "expected"), MISFITS)
def test_they_are_counted_and_logged_for_a_key(
    path: str, method: str, endpoint: str, expected: tuple[int, str], key: Key
) -> None:
    response = call(path, key.raw, method)
    assert refusal(response) == expected
    assert response["Access-Control-Allow-Origin"] == "*"
    assert counts() == [(key.row.public_id, "", endpoint, *expected, 1)]
    row = RequestLog.objects.get()
    assert (row.method, row.path, row.status, row.code) == (method, path, *expected)
    assert (row.credential, row.request_id) == (key.row.public_id, response["X-Request-ID"])


def test_they_are_counted_for_an_app(token: str, spa: Client) -> None:
    for path, method, _, expected in MISFITS:
        assert refusal(call(path, token, method)) == expected
    assert sorted(counts()) == [
        ("", spa.client_id, "(none)", *NOT_FOUND, 3),
        ("", spa.client_id, "me", *WRONG_METHOD, 1),
        ("", spa.client_id, "me/plan", *WRONG_METHOD, 1),
        ("", spa.client_id, "openapi.json", *WRONG_METHOD, 1),
    ]


@pytest.mark.parametrize("credential", [None, "x", "op_key_x", "eyJhbGciOiJub25lIn0.e30."])
def test_without_a_credential_or_with_nobodys_the_answer_is_the_same(credential: str | None, db: None) -> None:
    for path, method, _, expected in MISFITS:
        response = call(path, credential, method)
        assert refusal(response) == expected
        assert not any(name.startswith("RateLimit-") for name in response.headers)
    assert counts() == []


def test_a_dead_credential_gets_the_same_answer_and_is_counted(key: Key) -> None:
    keys.API_KEYS.revoke(key.row)
    assert refusal(call("/v1/zzz", key.raw)) == NOT_FOUND
    assert refusal(call(ME, key.raw, "POST")) == WRONG_METHOD
    assert [row[2:5] for row in counts()] == [("(none)", *NOT_FOUND), ("me", *WRONG_METHOD)]


def test_a_preflight_is_nobodys(key: Key) -> None:
    asked = {"Access-Control-Request-Method": "GET"}
    assert call("/v1/zzz", key.raw, "OPTIONS", **asked).status_code == 204
    assert counts() == []


def test_a_database_that_is_down_changes_no_answer(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(raw: str) -> Any:
        raise OperationalError("gone")

    monkeypatch.setattr(authentication, "_by_key", down)
    assert refusal(call("/v1/zzz", key.raw)) == NOT_FOUND
    assert refusal(call(ME, key.raw, "POST")) == WRONG_METHOD
    assert refusal(call(ME, key.raw)) == (502, "upstream_unavailable")


# --- Limits ---


def test_they_use_up_the_callers_limit_and_tell_it(key: Key, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE = 3
    assert call("/v1/zzz", key.raw)["RateLimit-Remaining"] == "2"
    assert call(ME, key.raw, "POST")["RateLimit-Remaining"] == "1"
    assert call(ME, key.raw).status_code == 200
    for path, method in (("/v1/zzz", "GET"), (ME, "POST"), (ME, "GET")):
        response = call(path, key.raw, method)
        assert refusal(response) == (429, "rate_limited")
        assert 1 <= int(response["Retry-After"]) <= 60
    # Without the key nothing is limited.
    assert refusal(call("/v1/zzz")) == NOT_FOUND


def test_a_person_within_an_app_is_limited_there_too(token: str, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_PERSON_PER_MINUTE = 1
    assert [call("/v1/zzz", token).status_code for _ in range(2)] == [404, 429]


def test_guesses_are_not_free_there(db: None, mid_minute: Mover, settings: Any) -> None:
    # A live credential is told its limits, so this would be a place to try them out.
    settings.API_GUESSES_PER_MINUTE = 2
    assert [call("/v1/zzz", f"guess{n}").status_code for n in range(3)] == [404, 404, 429]
    assert call("/v1/zzz").status_code == 404


def test_each_is_one_statement(key: Key, token: str, django_assert_num_queries: Queries) -> None:
    for credential in (key.raw, token):
        call(ME, credential)
        for path, method in (("/v1/zzz", "GET"), (ME, "POST")):
            with django_assert_num_queries(1):
                call(path, credential, method)


# --- What is kept of a path ---


def test_no_path_becomes_a_kind_of_its_own(key: Key) -> None:
    for number in range(20):
        call(f"/v1/{number}/{'x' * number}", key.raw)
    assert counts() == [(key.row.public_id, "", "(none)", *NOT_FOUND, 20)]


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/v1/me/plans", "/v1/me/plans"),
        ("/v2/me", "/v2/me"),
        ("/v1/Me/", "/v1/Me/"),
        ("/v1//me", "/v1//me"),
        ("/v1/users/ada@example.com", "/v1/users/…"),
        ("/v1/users/1234567", "/v1/users/…"),
        ("/v1/op_key_AbCdEfGh12345678_" + "x" * 43, "/v1/…"),
        ("/v1/eyJhbGciOiJub25lIn0.e30.sig", "/v1/…"),
        ("/v1/" + "a" * 25, "/v1/…"),
        ("/v1/a\nb", "/v1/…"),
        ("/v1/\x00", "/v1/…"),
        ("/v1/me=x", "/v1/…"),
        ("/v1/é", "/v1/…"),
        ("/v1" + "/a" * 5000, "/v1" + "/a" * 8),
        ("/v1", "/v1"),
    ],
)
def test_only_words_of_it_are_kept(path: str, kept: str) -> None:
    assert request_log.redact_path(path) == kept


# --- HEAD ---


@pytest.mark.parametrize("path", [ME, PLAN, "/v1/openapi.json"])
def test_head_is_answered_like_get(path: str, key: Key) -> None:
    got, head = call(path, key.raw), call(path, key.raw, "HEAD")
    assert head.status_code == got.status_code == 200
    assert head.content == b""
    for name in ("Content-Type", "Content-Length", "Cache-Control", "ETag", "Access-Control-Allow-Origin"):
        assert head.get(name) == got.get(name), name


def test_head_is_a_call_and_is_refused_like_one(key: Key) -> None:
    call(ME, key.raw, "HEAD")
    assert call(ME, None, "HEAD").status_code == 401
    assert counts() == [(key.row.public_id, "", "me", 200, "", 1)]
    assert RequestLog.objects.get().method == "HEAD"


# --- The console ---


def test_the_console_lists_what_can_be_read_and_every_code_of_a_caller() -> None:
    assert list(shown.ENDPOINTS) == ["/v1/me", "/v1/me/plan"]
    assert {"not_found", "method_not_allowed"} <= set(shown.CODES)
