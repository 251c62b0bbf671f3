"""One envelope for every answer that is no success, whatever the method. test_golden.py has the headers of each."""

import itertools
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client as Browser

from accounts.plans.resolution import DatabasePlans
from api import authentication, me
from tests.api.calls import ME, PLAN, call, refusal
from tests.api.conftest import Key

SCHEMA = "/v1/openapi.json"
EXPOSED = ("WWW-Authenticate", "Retry-After", "RateLimit-Remaining", "X-Request-ID", "Link")
OTHERS = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "BREW"]
NOWHERE = [
    "/v1",
    "/v1/",
    "/v1/me/",
    "/v1/me/plan/",
    "/v1/openapi.json/",
    "/v1/Me",
    "/v1/me/plans",
    "/v1/me%00",
    "/v1/m%ff",
    "/v1/../v1/you",
    "/v1//me",
    "/v1/me;x=1",
    "/v1/a%0Ab",
    "/v1/a%0A",
    "/v1/%0A",
    "/v1/" + "a" * 5000,
    "/v1/calendar/events",
    "/v1?x=%ff",
    "/v1?%00",
    "/v1/x?%ff=%00",
]


def allows_any_origin(response: Any) -> bool:
    exposed = response.get("Access-Control-Expose-Headers", "")
    return (
        response["Access-Control-Allow-Origin"] == "*"
        and "Access-Control-Allow-Credentials" not in response
        and all(name in exposed for name in EXPOSED)
    )


# --- The envelope ---


@pytest.mark.parametrize("path", [ME, PLAN, "/v1/nothing"])
def test_an_error_answer_to_head_has_the_same_headers_as_to_get(path: str) -> None:
    got, headed = call(path), call(path, method="HEAD")
    assert headed.status_code == got.status_code
    assert headed["Link"] == got["Link"]
    assert headed["X-Request-ID"] != got["X-Request-ID"]
    assert headed["Access-Control-Expose-Headers"] == got["Access-Control-Expose-Headers"]


# --- 404 and 405 ---


@pytest.mark.parametrize("path", NOWHERE)
def test_unknown_paths_are_404(path: str) -> None:
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"):
        response = call(path, method=method)
        assert response.status_code == 404, method
        assert response["Content-Type"] == "application/json"
        assert "Location" not in response
        assert allows_any_origin(response)
        if method != "HEAD":
            assert refusal(response) == (404, "not_found")


def test_a_query_is_ignored(key: Key) -> None:
    for query in ("x=%ff", "%00=%00", "a&a&a", "=", "&&&", "x=" + "y" * 4000):
        assert call(f"{ME}?{query}", key.raw).status_code == 200, query


@pytest.mark.parametrize("path", [ME, PLAN, SCHEMA])
def test_another_method(path: str, key: Key) -> None:
    for method, credential in itertools.product(OTHERS, (key.raw, None)):
        response = call(path, credential, method)
        assert refusal(response) == (405, "method_not_allowed"), method
        assert response["Allow"].split(", ")[0] == "GET"
        assert allows_any_origin(response)


def test_a_post_needs_no_csrf_token_to_be_told_so(signed_in: Browser) -> None:
    # With the cookies of a signed-in browser, and CSRF checked.
    strict = Browser(enforce_csrf_checks=True)
    strict.cookies = signed_in.cookies
    for path, expected in ((ME, 405), ("/v1/x", 404), ("/v1", 404), (SCHEMA, 405)):
        response = strict.post(path, {"a": "b"})
        assert response.status_code == expected
        assert set(response.json()) == {"error"}


def test_unexpected_bodies_are_ignored(key: Key) -> None:
    credential = {"Authorization": f"Bearer {key.raw}"}
    for kind in ("application/json", "multipart/form-data", "multipart/form-data; boundary=x", "x"):
        response = Browser().generic("GET", ME, b"\x00{" * 2000, content_type=kind, headers=credential)
        assert response.status_code == 200, kind


# --- 500 and 502 ---


@pytest.fixture(params=[ME, PLAN])
def path(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def fail(monkeypatch: pytest.MonkeyPatch, where: str, error: Exception, module: Any = me) -> None:
    def raising(*args: Any) -> Any:
        raise error

    monkeypatch.setattr(module, where, raising)


def test_an_unforeseen_failure_leaks_nothing(path: str, key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    secretive = RuntimeError("secret plans at /etc/passwd")
    fail(monkeypatch, "profile_for", secretive)
    fail(monkeypatch, "plan", secretive, DatabasePlans)
    response = call(path, key.raw)
    assert refusal(response) == (500, "internal_error")
    assert "passwd" not in response.content.decode() + str(response.headers)
    assert allows_any_origin(response)
    assert response["RateLimit-Limit"] == "600"


def test_a_failure_before_the_caller_is_known(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch, "_by_token", RuntimeError("secret"), authentication)
    response = call(path, "x")
    assert refusal(response) == (500, "internal_error")
    assert allows_any_origin(response)


def test_a_database_that_is_down(path: str, key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch, "_by_key", OperationalError("the password is hunter2"), authentication)
    response = call(path, key.raw)
    assert refusal(response) == (502, "upstream_unavailable")
    assert "hunter2" not in response.content.decode()
    assert allows_any_origin(response)


def test_a_failure_while_refusing_is_counted_once(key: Key, monkeypatch: pytest.MonkeyPatch, count: Any) -> None:
    fail(monkeypatch, "profile_for", RuntimeError())
    call(ME, key.raw)
    ((field, times),) = next(count.drain())[2].counts.items()
    assert "|500|internal_error|" in field
    assert times == 1


# --- Headers on each answer ---


def test_an_origin_changes_nothing(key: Key) -> None:
    for credential in (key.raw, None):
        plain, other = (
            call(ME, credential, **({"Origin": origin} if origin else {})) for origin in (None, "https://app.example")
        )
        assert allows_any_origin(plain)
        assert allows_any_origin(other)
        assert "Origin" not in other.get("Vary", "")


# --- Preflights ---


@pytest.mark.parametrize("path", [SCHEMA, "/v1/x", "/v1"])
def test_a_preflight(path: str) -> None:
    response = call(
        path,
        method="OPTIONS",
        Origin="https://app.example",
        **{"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"},
    )
    assert response.status_code == 204
    assert response.content == b""
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in response
    assert response["Access-Control-Allow-Methods"] == "GET"
    # "*" would not cover it: Authorization has to be named (Fetch, CORS protocol).
    assert "authorization" in response["Access-Control-Allow-Headers"].lower()
    assert int(response["Access-Control-Max-Age"]) > 0


def test_a_preflight_is_no_call(key: Key, count: Any) -> None:
    call(ME, key.raw, "OPTIONS", Origin="https://app.example", **{"Access-Control-Request-Method": "GET"})
    assert [*count.drain()] == []
    assert call(ME, key.raw)["RateLimit-Remaining"] == "599"


@pytest.mark.parametrize("path", [ME, PLAN, SCHEMA, "/v1/x"])
def test_monitoring_tools_may_add_their_headers_to_a_call(path: str) -> None:
    wanted = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "baggage,x-datadog-origin"}
    response = call(path, method="OPTIONS", Origin="https://app.example", **wanted)
    assert response["Access-Control-Allow-Headers"] == "baggage, x-datadog-origin"
