"""Mistyped API keys and ID tokens: the caller is told what is wrong, and the request log of the project has them.

They prove nothing. So they are limited like guesses, and fill neither the log nor the usage of a project.
"""

from collections.abc import Callable
from typing import Any

import pytest

from api import keys, request_log, usage_counts
from api.models import ApiKey, RequestLog, UsageBucket
from oidc.tokens import signing_keys
from tests.api.calls import ME, PLAN, call, refusal
from tests.api.conftest import Key, Mover
from tests.factories import make_key
from tests.relying_party import RelyingParty

Queries = Callable[[int], Any]
BAD_KEY, BAD_TOKEN = (401, "invalid_api_key"), (401, "invalid_token")


def mistyped(raw: str) -> str:
    return raw[:-10] + ("A" if raw[-10] != "A" else "B") + raw[-9:]


def message(response: Any) -> str:
    return str(response.json()["error"]["message"])


def rows() -> list[RequestLog]:
    usage_counts.flush_usage()
    return list(RequestLog.objects.order_by("pk"))


def test_a_mistyped_key_is_named_and_logged(key: Key) -> None:
    for raw in (mistyped(key.raw), key.raw[:-1], key.raw + "x", key.raw[:20]):
        response = call(ME, raw)
        assert refusal(response) == BAD_KEY
        assert "mistyped" in message(response)
        assert raw[20:] not in message(response) or raw[20:] == ""
    found = rows()
    assert [(row.project, row.credential, row.status, row.code) for row in found] == [
        (key.project, key.row.public_id, 401, "invalid_api_key")
    ] * 4
    assert not any(row.subject for row in found)


def test_a_key_that_nobody_has_gets_the_same_response_and_an_entry_without_a_project(key: Key) -> None:
    unknown = f"op_key_{'A' * 12}{mistyped(key.raw)[19:]}"
    assert call(ME, unknown).json() == call(ME, mistyped(key.raw)).json() == call(ME, "op_key_x").json()
    assert [(row.credential, row.project) for row in rows()] == [
        ("AAAAAAAAAAAA", None),
        (key.row.public_id, key.project),
        ("", None),
    ]


def test_the_response_does_not_tell_whether_the_key_has_ended(key: Key) -> None:
    before = call(ME, mistyped(key.raw)).json()
    keys.API_KEYS.revoke(key.row)
    assert call(ME, mistyped(key.raw)).json() == before


def test_a_forged_secret_with_the_right_checksum_is_unknown(key: Key) -> None:
    unchecked = key.raw[:-7] + ("A" if key.raw[-7] != "A" else "B")
    assert message(call(ME, unchecked + keys.checksum(unchecked))) == "This API key is unknown."
    (row,) = rows()
    assert (row.project, row.credential, row.is_counted) == (key.project, key.row.public_id, False)


def test_an_id_token_is_named_and_logged(app: RelyingParty, later: Mover) -> None:
    id_token = app.tokens()["id_token"]
    later(3600)  # expired: it is an ID token all the same
    response = call(PLAN, id_token)
    assert refusal(response) == BAD_TOKEN
    assert "ID token" in message(response)
    (row,) = rows()
    assert (row.project, row.client, row.credential) == (app.client.project, app.client.client_id, "")
    assert (row.path, row.code, row.subject) == (PLAN, "invalid_token", "")


def test_a_changed_id_token_names_nobody(app: RelyingParty) -> None:
    head, claims, signature = app.tokens()["id_token"].split(".")
    usage_counts.flush_usage()
    for forged in (
        f"{head}.{claims}.{signature[:-4]}AAAA",
        f"{head}.{claims[:-4]}AAAA.{signature}",
        f"{head}.{claims}.",
    ):
        response = call(ME, forged)
        assert refusal(response) == BAD_TOKEN
        assert "ID token" not in message(response)
    assert {(row.project, row.client) for row in rows()} == {(None, "")}


def test_unknown_credentials_from_many_names_stay_bounded(
    key: Key, mid_minute: Mover, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_log, "UNKNOWN_PER_MINUTE", 3)
    for number in range(6):
        call(ME, f"op_key_{number:012d}_x")
    call(ME, mistyped(key.raw))
    assert [row.project for row in rows()] == [None] * 3 + [key.project]
    mid_minute(60)
    call(ME, "op_key_x")
    assert len(rows()) == 5


def test_they_run_no_sql(key: Key, app: RelyingParty, django_assert_num_queries: Queries) -> None:
    id_token = app.tokens()["id_token"]
    signing_keys.reload_keyring()
    with django_assert_num_queries(0):
        call(ME, mistyped(key.raw))
        call(ME, id_token)


def test_they_are_limited_like_guesses(key: Key, app: RelyingParty, mid_minute: Mover, settings: Any) -> None:
    id_token = app.tokens()["id_token"]
    settings.API_GUESSES_PER_MINUTE = 3
    responses = [call(ME, credential) for credential in (mistyped(key.raw), id_token) * 3]
    assert [response.status_code for response in responses] == [401, 401, 401, 429, 429, 429]
    assert call(ME, key.raw).status_code == 200
    assert len(rows()) == 4


def test_they_neither_count_in_the_usage_nor_as_use_of_the_key(key: Key) -> None:
    for path in (ME, "/v1/none"):
        call(path, mistyped(key.raw), **{"X-Forwarded-For": "192.0.2.7"})
    assert [row.code for row in rows()] == ["invalid_api_key", "not_found"]
    assert not UsageBucket.objects.exists()
    assert ApiKey.objects.get().last_used_at is None


def test_a_flood_of_one_key_stays_bounded(key: Key, mid_minute: Mover, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_log, "UNPROVEN_PER_MINUTE", 3)
    _, other = make_key(key.project, key.owner)
    for _ in range(6):
        assert call(ME, mistyped(key.raw)).status_code == 401
    call(ME, mistyped(other))
    call(ME, key.raw)
    assert [row.status for row in rows()] == [401] * 4 + [200]
    mid_minute(60)
    call(ME, mistyped(key.raw))
    assert len(rows()) == 6


def test_a_flood_of_many_names_stays_bounded(key: Key, mid_minute: Mover, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_log, "_MOST_UNPROVEN", 5)
    for number in range(9):
        call(ME, f"op_key_{number:012d}_x")
    assert len(request_log.unproven_budget._had) == 6
    call(ME, mistyped(key.raw))
    call(ME, key.raw)
    assert [row.status for row in rows()] == [401] * 5 + [200]
