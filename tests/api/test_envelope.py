"""One envelope for every answer that is no success, whatever the method, with the headers that each carries."""

from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client as Browser

from accounts.plans.resolution import DatabasePlans
from api import authentication, me
from tests.api.calls import ME, PLAN, call, refusal
from tests.api.conftest import Key
from tests.factories import make_key, make_project

SCHEMA = "/v1/openapi.json"
EXPOSED = ("WWW-Authenticate", "Retry-After", "RateLimit-Remaining", "X-Request-ID", "Link")
OTHERS = ["POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "PROPFIND", "BREW"]
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


@pytest.fixture
def everything(key: Key, token: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """An answer of each kind, by its name."""
    powerless = make_key(make_project(), permissions=[])[1]
    plan = call(PLAN, key.raw)
    answers = {
        "profile": call(ME, key.raw),
        "plan": plan,
        "unchanged": call(PLAN, key.raw, **{"If-None-Match": plan["ETag"]}),
        "schema": call(SCHEMA),
        "unauthenticated": call(ME),
        "invalid_api_key": call(ME, "op_key_x"),
        "invalid_token": call(ME, "x"),
        "insufficient_scope": call(ME, powerless),
        "not_found": call("/v1/x"),
        "method_not_allowed": call(ME, key.raw, "POST"),
    }
    settings.API_CALLS_PER_MINUTE = 1
    answers["rate_limited"] = call(ME, key.raw)
    return answers


# --- The envelope ---

ERRORS = ["unauthenticated", "invalid_api_key", "invalid_token", "insufficient_scope", "not_found"]
ERRORS += ["method_not_allowed", "rate_limited"]


@pytest.mark.parametrize("code", ERRORS)
def test_an_error_has_a_code_and_a_message_and_its_documentation_in_a_header(
    everything: dict[str, Any], settings: Any, code: str
) -> None:
    response = everything[code]
    assert set(response.json()) == {"error"}
    assert set(response.json()["error"]) == {"code", "message"}
    assert response.json()["error"]["code"] == code
    assert response["Link"] == f'<{settings.AUTH_URL}/docs/errors#api-{code}>; rel="help"'
    assert len(response["X-Request-ID"]) >= 8
    assert allows_any_origin(response)


@pytest.mark.parametrize("name", ["profile", "plan", "unchanged", "schema"])
def test_an_answer_that_is_no_error_links_to_no_error(everything: dict[str, Any], name: str) -> None:
    assert "Link" not in everything[name]
    assert everything[name]["X-Request-ID"]


@pytest.mark.parametrize("path", [ME, PLAN, "/v1/nothing"])
def test_an_error_answer_to_head_has_the_same_headers_as_to_get(path: str) -> None:
    got, headed = call(path), call(path, method="HEAD")
    assert headed.status_code == got.status_code
    assert headed["Link"] == got["Link"]
    assert headed["X-Request-ID"] != got["X-Request-ID"]
    assert headed["Access-Control-Expose-Headers"] == got["Access-Control-Expose-Headers"]


@pytest.mark.parametrize("path", [ME, PLAN])
def test_a_preflight_is_no_error_and_any_other_options_request_is_one(path: str) -> None:
    asked = {"Origin": "https://notes.example.com", "Access-Control-Request-Method": "GET"}
    preflight = call(path, method="OPTIONS", **asked)
    assert (preflight.status_code, preflight.content) == (204, b"")
    assert "Link" not in preflight
    assert preflight["X-Request-ID"]
    other = call(path, method="OPTIONS", Origin="https://notes.example.com")
    assert refusal(other) == (405, "method_not_allowed")
    assert allows_any_origin(other)


# --- 404 and 405 ---


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", NOWHERE)
def test_unknown_paths_are_404(path: str, method: str) -> None:
    response = call(path, method=method)
    assert response.status_code == 404
    assert response["Content-Type"] == "application/json"
    assert "Location" not in response
    assert allows_any_origin(response)
    if method != "HEAD":
        assert refusal(response) == (404, "not_found")


@pytest.mark.parametrize("query", ["x=%ff", "%00=%00", "a&a&a", "=", "&&&", "x=" + "y" * 4000])
def test_a_query_is_ignored(query: str, key: Key) -> None:
    assert call(f"{ME}?{query}", key.raw).status_code == 200


@pytest.mark.parametrize("credential", [True, False])
@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize("path", [ME, PLAN, SCHEMA])
def test_another_method(path: str, method: str, credential: bool, key: Key) -> None:
    response = call(path, key.raw if credential else None, method)
    assert refusal(response) == (405, "method_not_allowed")
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


def test_any_origin_may_read_every_answer(everything: dict[str, Any]) -> None:
    for name, response in everything.items():
        assert allows_any_origin(response), name


def test_an_origin_changes_nothing(key: Key) -> None:
    for credential in (key.raw, None):
        plain, other = (
            call(ME, credential, **({"Origin": origin} if origin else {})) for origin in (None, "https://app.example")
        )
        assert allows_any_origin(plain)
        assert allows_any_origin(other)
        assert "Origin" not in other.get("Vary", "")


def test_every_answer_has_a_request_id(everything: dict[str, Any]) -> None:
    ids = [response["X-Request-ID"] for response in everything.values()]
    assert len(set(ids)) == len(ids)


def test_a_refusal_of_the_credential_says_how_to_come_back(everything: dict[str, Any]) -> None:
    for name, response in everything.items():
        assert ("WWW-Authenticate" in response) == (response.status_code in (401, 403)), name


def test_every_counted_answer_has_rate_limit_headers(everything: dict[str, Any]) -> None:
    counted = {"profile", "plan", "unchanged", "insufficient_scope", "method_not_allowed", "rate_limited"}
    for name, response in everything.items():
        told = {header for header in response.headers if header.startswith("RateLimit-")}
        assert told == ({f"RateLimit-{n}" for n in ("Limit", "Remaining", "Reset")} if name in counted else set()), name
        if told:
            assert 1 <= int(response["RateLimit-Reset"]) <= 60
            assert 0 <= int(response["RateLimit-Remaining"]) < int(response["RateLimit-Limit"])


def test_only_plan_and_schema_may_be_kept(everything: dict[str, Any]) -> None:
    for name, response in everything.items():
        cached = {"plan": "private, max-age=300", "unchanged": "private, max-age=300", "schema": "public, max-age=3600"}
        assert response["Cache-Control"] == cached.get(name, "no-store"), name


def test_no_answer_is_taken_for_a_page(everything: dict[str, Any]) -> None:
    for name, response in everything.items():
        assert response["Content-Type"] == "application/json", name
        assert response["X-Content-Type-Options"] == "nosniff", name


# --- Preflights ---


@pytest.mark.parametrize("path", [ME, PLAN, SCHEMA, "/v1/x", "/v1"])
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
