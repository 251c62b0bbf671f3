"""/connect/forward-auth/<slug> (docs/sign-in.md#forward-authentication)."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import Account
from api import usage_counts
from api.models import ApiKey, RequestLog, UsageBucket
from oidc.apis.credentials import create_credential
from oidc.apis.registry import reload_registry
from oidc.apis.validation import validate_method
from oidc.models import Api, ApiRule, Client, Connection
from oidc.tokens import signing_keys
from tests.api.calls import refusal
from tests.api.forwarding import WHO, ask, ask_as_envoy
from tests.api.introspecting import ENDS_OF_KEYS, ENDS_OF_TOKENS, Server
from tests.factories import make_access_token, make_api, make_client, make_key, make_project

CALENDAR = "https://calendar.example.com"
METADATA = "https://calendar.example.com/.well-known/oauth-protected-resource"
RULES = [
    ("GET", "/events", "calendar.read"),
    ("GET", "/events/*", "calendar.read"),
    ("POST", "/events", "calendar.write"),
    ("*", "/admin/*", "calendar.write"),
]


@pytest.fixture
def api(db: None) -> Api:
    return make_api(rules=RULES)


@pytest.fixture
def app(api: Api) -> Client:
    return make_client(approved_scopes="calendar.write")


@pytest.fixture
def token(app: Client, person: Account) -> str:
    return make_access_token(app, person, ["calendar.read"], CALENDAR)


@pytest.fixture
def key(api: Api, person: Account) -> tuple[ApiKey, str]:
    return make_key(make_project(person), person, ["calendar.read"])


# --- Allowed ---


def test_an_app_may_call(token: str, app: Client) -> None:
    response = ask(token)
    assert (response.status_code, response.content) == (200, b"")
    assert response["X-Auth-Subject"] == Connection.objects.get().subject.sub  # type: ignore[union-attr]
    assert response["X-Auth-Client"] == app.client_id
    assert response["X-Auth-Scope"] == "calendar.read"
    assert response["X-Auth-Key"] == ""
    assert response["Cache-Control"] == "no-store"


def test_a_key_may_call(key: tuple[ApiKey, str]) -> None:
    response = ask(key[1])
    assert response.status_code == 200
    assert (response["X-Auth-Key"], response["X-Auth-Client"]) == (key[0].public_id, "")
    assert response["X-Auth-Subject"] == key[0].subject.sub


COVERED = (
    "/events", "/events?a=/../b&c=%2F", "/events/1", "/events/", "/events/%C3%A9", "/events/a%20b", "/events/1.ics",
    "/events//1", "/events/./1", "/events/a/../1", "/events/.x", "/events/x:y@z!$&'()*+,=~_-",
)  # fmt: skip


@pytest.mark.parametrize("style", ["Forwarded", "Original"])
def test_paths_that_a_rule_covers(token: str, style: str) -> None:
    for path in COVERED:
        assert ask(token, path, style=style).status_code == 200, path
    assert ask(token, method="HEAD", style=style).status_code == 200


def test_envoy_appends_the_path(token: str) -> None:
    for path in ("/events", "/events/1", "/events?scope=calendar.write", "/events/%C3%A9"):
        assert ask_as_envoy(token, path).status_code == 200, path
        assert refusal(ask_as_envoy(token, path, "POST"))[0] == 403


@pytest.mark.parametrize("method", ["M-SEARCH", "UPDATE2", "X"])
def test_a_rule_may_be_about_any_method_that_it_can_name(person: Account, db: None, method: str) -> None:
    validate_method(method)
    api = make_api(rules=[(method, "/events", "calendar.read")])
    token = make_access_token(make_client(), person, ["calendar.read"], api.identifier)
    assert ask(token, "/events", method).status_code == 200
    assert ask_as_envoy(token, "/events", method).status_code == 200
    assert refusal(ask(token, "/events", "POST")) == (403, "path_not_allowed")


def test_the_proxy_may_name_the_scope_of_an_api_without_rules(token: str, app: Client, person: Account) -> None:
    ApiRule.objects.all().delete()
    reload_registry()
    assert ask(token, None, None, query="?scope=calendar.read").status_code == 200
    response = ask(token, None, None, query="?scope=calendar.read+calendar.write")
    assert refusal(response) == (403, "insufficient_scope")
    assert 'scope="openid calendar.read calendar.write"' in response["WWW-Authenticate"]
    assert refusal(ask(token)) == (403, "path_not_allowed")


def test_a_scope_of_the_proxy_only_adds_to_the_rules(token: str) -> None:
    assert refusal(ask(token, query="?scope=calendar.write")) == (403, "insufficient_scope")
    assert refusal(ask(token, "/admin/x", query="?scope=calendar.read")) == (403, "insufficient_scope")
    assert refusal(ask(token, "/other", query="?scope=calendar.read")) == (403, "path_not_allowed")


def test_any_host_is_accepted(token: str) -> None:
    assert ask(token, Host="calendar.example.com").status_code == 200


def test_http_is_not_redirected(token: str, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert ask(token).status_code == 200


# --- Refused ---


def test_without_a_credential(api: Api) -> None:
    response = ask()
    assert refusal(response) == (401, "unauthenticated")
    assert response["WWW-Authenticate"] == (
        f'Bearer realm="calendar", scope="openid calendar.read", resource_metadata="{METADATA}"'
    )


@pytest.mark.parametrize(("raw", "code"), [("x.y.z", "invalid_token"), ("op_key_x", "invalid_api_key")])
def test_with_an_unknown_credential(api: Api, raw: str, code: str) -> None:
    response = ask(raw)
    assert refusal(response) == (401, code)
    assert response["WWW-Authenticate"] == (
        f'Bearer realm="calendar", error="invalid_token", scope="openid calendar.read", resource_metadata="{METADATA}"'
    )


def test_the_body_is_repeated_in_a_header(api: Api, token: str) -> None:
    for response in (ask(), ask(token, "/admin/x"), ask(token, "/none"), ask("x")):
        assert response["X-Auth-Error"] == response.content.decode()
        assert set(json.loads(response["X-Auth-Error"])) == {"error"}


def test_a_missing_scope_is_named(token: str) -> None:
    response = ask(token, "/events", "POST")
    assert refusal(response) == (403, "insufficient_scope")
    assert response["WWW-Authenticate"] == (
        'Bearer realm="calendar", error="insufficient_scope", scope="openid calendar.write", '
        f'resource_metadata="{METADATA}"'
    )


def test_without_a_matching_rule(token: str) -> None:
    for path, method in (("/", "GET"), ("/event", "GET"), ("/events", "PUT"), ("/x/events", "GET")):
        response = ask(token, path, method)
        assert refusal(response) == (403, "path_not_allowed"), path
        assert "WWW-Authenticate" not in response


def test_a_turned_off_api(api: Api, token: str) -> None:
    api.enabled = False
    api.save()
    reload_registry()
    for response in (ask(token), ask()):
        assert refusal(response) == (403, "api_disabled")


def test_an_unknown_api(token: str) -> None:
    for slug in ("nothing", "account", "me", "calendarx"):
        assert refusal(ask(token, slug=slug)) == (404, "not_found"), slug


def test_a_token_of_another_api(token: str, app: Client, person: Account) -> None:
    make_api("tasks", rules=[("*", "/*", "tasks.read")])
    assert refusal(ask(token, slug="tasks")) == (401, "invalid_token")
    assert refusal(ask(make_access_token(app, person))) == (401, "invalid_token")


def test_a_key_without_the_permission(api: Api, person: Account) -> None:
    assert refusal(ask(make_key(make_project(person), person)[1])) == (403, "insufficient_scope")


@pytest.mark.parametrize("end", ENDS_OF_TOKENS)
def test_a_token_counts_no_longer_at_the_next_call(token: str, end: str) -> None:
    assert ask(token).status_code == 200
    ENDS_OF_TOKENS[end]()
    assert ask(token).status_code == 401


@pytest.mark.parametrize("end", ENDS_OF_KEYS)
def test_a_key_counts_no_longer_at_the_next_call(key: tuple[ApiKey, str], end: str) -> None:
    assert ask(key[1]).status_code == 200
    ENDS_OF_KEYS[end]()
    assert ask(key[1]).status_code == 401


# --- Limits, usage and request log ---


def test_the_limits_of_the_api(api: Api, token: str, key: tuple[ApiKey, str], stopped_clock: None) -> None:
    api.calls_per_minute, api.calls_per_person_per_minute = 3, 2
    api.save()
    reload_registry()
    for raw, most in ((token, 2), (key[1], 3)):
        answers = [ask(raw) for _ in range(most + 1)]
        assert [answer.status_code for answer in answers] == [200] * most + [429]
        assert refusal(answers[-1]) == (429, "rate_limited")
        assert 1 <= int(answers[-1]["Retry-After"]) <= 60


def test_introspection_and_forward_authentication_share_the_limits(api: Api, token: str, stopped_clock: None) -> None:
    api.calls_per_person_per_minute = 2
    api.save()
    reload_registry()
    server = Server(api, *create_credential(api))
    assert [ask(token).status_code, server.ask(token).status_code, ask(token).status_code] == [200, 200, 429]


def test_unknown_credentials_are_limited_by_address(api: Api, token: str, settings: Any, stopped_clock: None) -> None:
    settings.API_GUESSES_PER_MINUTE = 2
    assert [ask(f"x.y.{n}").status_code for n in range(3)] == [401, 401, 429]
    assert ask(token).status_code == 200


def test_calls_are_logged_with_the_original_method_and_path(token: str, app: Client) -> None:
    ask(token, "/events/12345?secret=x")
    ask(token, "/events", "POST")
    ask(token, "/events%2f..%2fadmin")
    usage_counts.flush_usage()
    rows = RequestLog.objects.order_by("pk").values_list("api", "method", "path", "status", "code")
    assert list(rows) == [
        ("calendar", "GET", "/events/…", 200, ""),
        ("calendar", "POST", "/events", 403, "insufficient_scope"),
        ("calendar", "GET", "/…", 403, "path_not_allowed"),
    ]
    assert set(RequestLog.objects.values_list("project", "client")) == {(app.project_id, app.client_id)}
    assert set(UsageBucket.objects.values_list("endpoint", flat=True)) == {"calendar"}


def test_refused_calls_of_known_tokens_are_logged(token: str) -> None:
    ENDS_OF_TOKENS["access is removed"]()
    ask(token)
    usage_counts.flush_usage()
    assert RequestLog.objects.values_list("status", "code").get() == (401, "invalid_token")


def test_calls_with_an_unknown_credential_are_logged_without_a_project(api: Api) -> None:
    request_id = ask("x.y.z")["X-Request-ID"]
    ask(None)
    usage_counts.flush_usage()
    row = RequestLog.objects.get()
    assert (row.project, row.api, row.status, row.code, row.request_id) == (
        None,
        "calendar",
        401,
        "invalid_token",
        request_id,
    )


def test_the_address_of_a_keys_last_use_comes_from_a_trusted_proxy(key: tuple[ApiKey, str], settings: Any) -> None:
    headers = {"X-Forwarded-For": "203.0.113.5"}
    for trusted, address in (([], None), (["127.0.0.1"], "203.0.113.5")):
        settings.TRUSTED_PROXIES = trusted
        ApiKey.objects.update(last_used_at=None)
        ask(key[1], **headers)
        usage_counts.flush_usage()
        key[0].refresh_from_db()
        assert key[0].last_used_at is not None
        assert key[0].last_used_address == address


# --- Budget ---


@pytest.mark.parametrize("which", ["token", "key"])
def test_a_call_is_exactly_one_statement(
    token: str, key: tuple[ApiKey, str], which: str, django_assert_num_queries: Callable[[int], Any]
) -> None:
    raw = token if which == "token" else key[1]
    signing_keys.reload_keyring()
    ask(raw)
    with django_assert_num_queries(1):
        response = ask(raw)
    assert all(name in response for name in WHO)
    with django_assert_num_queries(1):
        assert ask(raw, "/admin/x").status_code == 403
