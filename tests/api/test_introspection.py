"""POST /connect/introspect (RFC 7662, docs/sign-in.md#introspection)."""

import base64
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings as configured
from django.test import Client as Browser

from accounts.models import Account
from api import usage_counts
from api.models import ApiKey, RequestLog, UsageBucket
from core import clock
from core.limits.counters import counters
from oidc.apis.credentials import create_credential
from oidc.apis.registry import reload_registry
from oidc.models import AccessToken, Client, Connection, TokenFamily
from oidc.tokens import signing_keys
from tests.api.introspecting import (
    ENDS_OF_KEYS,
    ENDS_OF_TOKENS,
    INACTIVE,
    PATH,
    Server,
    basic,
    change_api,
    close_to_keys,
    make_server,
    post,
    remove_scopes,
)
from tests.factories import make_access_token, make_account, make_client, make_key, make_project, make_web_client
from tests.relying_party import FORM

Mover = Callable[[float], None]
CALENDAR = "https://calendar.example.com"
BOTH = ("calendar.read", "calendar.write")


@pytest.fixture
def server(db: None) -> Server:
    return make_server()


@pytest.fixture
def app(db: None) -> Client:
    return make_client(approved_scopes="calendar.write account.read")


@pytest.fixture
def token(server: Server, app: Client, person: Account) -> str:
    return make_access_token(app, person, BOTH, CALENDAR)


@pytest.fixture
def key(server: Server, person: Account) -> tuple[ApiKey, str]:
    return make_key(make_project(person), person, ["account.read", "calendar.read"])


# --- What it answers ---


def test_an_access_token(server: Server, token: str, app: Client) -> None:
    row = AccessToken.objects.get()
    expires = int(row.expires.timestamp())
    assert server.learn(token) == {
        "active": True,
        "iss": configured.ISSUER,
        "sub": Connection.objects.get().subject.sub,  # type: ignore[union-attr]
        "aud": CALENDAR,
        "scope": "calendar.read calendar.write",
        "client_id": app.client_id,
        "token_type": "Bearer",
        "iat": expires - configured.ACCESS_TOKEN_SECONDS,
        "exp": expires,
    }


def test_a_token_with_the_claims_of_its_sign_in(server: Server, app: Client, person: Account) -> None:
    raw = make_access_token(app, person, BOTH, CALENDAR, authentication_claims='{"acr": "mfa"}')
    answer = server.learn(raw)
    assert answer["acr"] == "mfa"
    assert answer["auth_time"] == int(TokenFamily.objects.get().auth_time.timestamp())


def test_an_api_key(server: Server, key: tuple[ApiKey, str]) -> None:
    row, raw = key
    assert server.learn(raw) == {
        "active": True,
        "iss": configured.ISSUER,
        "sub": row.subject.sub,
        "aud": CALENDAR,
        "scope": "calendar.read",
        "key_id": row.public_id,
        "iat": int(row.created_at.timestamp()),
    }


def test_an_api_key_that_expires(server: Server, person: Account) -> None:
    until = clock.now() + timedelta(days=1)
    raw = make_key(make_project(person), person, ["calendar.read"], expires_at=until)[1]
    assert server.learn(raw)["exp"] == int(until.timestamp())


def test_the_subject_is_that_of_the_apps_project(server: Server, app: Client, person: Account) -> None:
    other = make_client()
    subs = {server.learn(make_access_token(c, person, ["calendar.read"], CALENDAR))["sub"] for c in (app, other)}
    assert len(subs) == 2


def test_a_first_party_app_is_accepted(server: Server, person: Account) -> None:
    raw = make_access_token(make_client(first_party=True), person, ["calendar.read"], CALENDAR)
    assert server.learn(raw)["active"] is True


def test_the_hint_is_ignored(server: Server, token: str) -> None:
    for hint in ("access_token", "refresh_token", "nonsense"):
        assert server.ask(token, token_type_hint=hint).json()["active"] is True


# --- What is not active ---


ENDS = ENDS_OF_TOKENS | {
    "consent is withdrawn": lambda: Connection.objects.update(scopes="openid"),
    "the API is turned off": lambda: change_api(enabled=False),
    "the API moves": lambda: change_api(identifier="https://elsewhere.example.com"),
    "the API has no scopes": remove_scopes,
}
KEY_ENDS = ENDS_OF_KEYS | {
    "the API is turned off": lambda: change_api(enabled=False),
    "the API has no scopes": remove_scopes,
    "the scope is closed to keys": close_to_keys,
    "the permission is removed": lambda: ApiKey.objects.update(permissions="account.read"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_token_counts_no_longer_at_the_next_call(server: Server, token: str, end: str) -> None:
    assert server.learn(token)["active"] is True
    ENDS[end]()
    assert server.learn(token) == INACTIVE


@pytest.mark.parametrize("end", KEY_ENDS)
def test_a_key_counts_no_longer_at_the_next_call(server: Server, key: tuple[ApiKey, str], end: str) -> None:
    assert server.learn(key[1])["active"] is True
    KEY_ENDS[end]()
    assert server.learn(key[1]) == INACTIVE


def test_expired_tokens_and_keys(server: Server, token: str, person: Account, later: Mover) -> None:
    until = clock.now() + timedelta(seconds=60)
    raw = make_key(make_project(person), person, ["calendar.read"], expires_at=until)[1]
    later(configured.ACCESS_TOKEN_SECONDS + 1)
    assert server.learn(token) == server.learn(raw) == INACTIVE


def test_only_scopes_that_are_still_granted(server: Server, token: str, app: Client) -> None:
    Client.objects.update(approved_scopes="")
    assert server.learn(token)["scope"] == "calendar.read"


# --- Who may ask ---


def test_form_fields_authenticate_too(server: Server, token: str) -> None:
    form = {"token": token, "client_id": server.row.public_id, "client_secret": server.secret}
    assert post(form).json()["active"] is True


def test_the_header_is_form_decoded(server: Server, token: str) -> None:
    encoded = f"{server.row.public_id.replace('_', '%5F')}:{quote(server.secret)}".encode()
    assert post({"token": token}, f"basic {base64.b64encode(encoded).decode()}").json()["active"] is True


def test_several_credentials_work_at_once(server: Server, token: str) -> None:
    second = Server(server.api, *create_credential(server.api))
    assert server.learn(token)["active"] is second.learn(token)["active"] is True


def refused(response: Any) -> str:
    """Return the error of a response that refuses the API's credential."""
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Basic ")
    assert response["Cache-Control"] == "no-store"
    body = response.json()
    assert set(body) == {"error", "error_description"}
    return str(body["error"])


def test_wrong_credentials_are_refused(server: Server, token: str) -> None:
    good, secret = server.row.public_id, server.secret
    for public_id, given in (
        (good, secret[:-1]), (good, secret + "x"), (good, "x"), ("api_unknown", secret), ("x" * 5000, secret),
        ("api_\u00e9", secret), (secret, good), (good.upper(), secret),
    ):  # fmt: skip
        assert refused(post({"token": token}, basic(public_id, given))) == "invalid_client"
        assert refused(post({"token": token, "client_id": public_id, "client_secret": given})) == "invalid_client"


def test_missing_and_unreadable_credentials_are_refused(server: Server, token: str) -> None:
    public_id = server.row.public_id
    for form in ({}, {"client_id": public_id}, {"client_secret": "x"}, {"client_id": public_id, "client_secret": ""}):
        assert refused(post({"token": token} | form)) == "invalid_client", form
    for header in ("Basic", "Basic x", "Basic Ong=", "Bearer abc", "", "Basic bm9jb2xvbg=="):
        assert refused(post({"token": token}, header)) == "invalid_client", header


def test_an_apps_secret_is_refused(server: Server, token: str, person: Account) -> None:
    client, secret = make_web_client(make_project(person))
    assert refused(post({"token": token}, basic(client.client_id, secret))) == "invalid_client"
    assert refused(post({"token": token}, basic(server.row.public_id, secret))) == "invalid_client"
    assert refused(post({"token": token}, f"Bearer {token}")) == "invalid_client"


def test_revoked_and_expired_credentials_are_refused(server: Server, token: str, later: Mover) -> None:
    server.row.expires_at = clock.now() + timedelta(seconds=60)
    server.row.save()
    assert server.learn(token)["active"] is True
    later(60)
    assert refused(server.ask(token)) == refused(server.ask("garbage")) == "invalid_client"
    server.row.expires_at, server.row.revoked_at = None, clock.now()
    server.row.save()
    assert refused(server.ask(token)) == refused(server.ask("garbage")) == "invalid_client"


def test_two_ways_at_once_are_refused(server: Server, token: str) -> None:
    form = {"token": token, "client_id": server.row.public_id, "client_secret": server.secret}
    response = post(form, server.authorization)
    assert (response.status_code, response.json()["error"]) == (400, "invalid_request")
    assert refused(post({"token": token, "client_id": "another"}, server.authorization)) == "invalid_client"


def test_a_refused_caller_learns_and_changes_nothing(server: Server, token: str) -> None:
    AccessToken.objects.update(used=False)
    answers = {post({"token": t}, basic(server.row.public_id, "x")).content for t in (token, "garbage", "a.b.c")}
    assert len(answers) == 1
    usage_counts.flush_usage()
    assert AccessToken.objects.get().used is False
    assert not RequestLog.objects.exists()
    server.row.refresh_from_db()
    assert server.row.last_used_at is None


def test_the_use_of_a_credential_is_noted_once_an_hour(server: Server, token: str, later: Mover) -> None:
    noted = []
    for seconds in (0, 3000, 700):
        later(seconds)
        server.ask("garbage")
        server.row.refresh_from_db()
        noted.append(server.row.last_used_at)
    assert noted[0] == noted[1]
    assert noted[2] != noted[0]
    assert server.row.last_used_address == "127.0.0.1"


# --- The request ---


def test_a_missing_token(server: Server) -> None:
    for form in ({}, {"token": ""}, {"token_type_hint": "access_token"}):
        response = post(form, server.authorization)
        assert (response.status_code, response.json()["error"]) == (400, "invalid_request")
        assert response["Cache-Control"] == "no-store"


def test_only_post(server: Server) -> None:
    for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"):
        response = Browser().generic(method, PATH)
        assert (response.status_code, response["Allow"]) == (405, "POST")


def test_malformed_requests(server: Server, token: str) -> None:
    for body in (f"token={token}&token={token}", f"token={token}&token_type_hint=%ff"):
        assert post(body, server.authorization).json()["error"] == "invalid_request"
    browser = Browser()
    headers = {"Authorization": server.authorization}
    for kind in ("application/json", "text/plain", "multipart/form-data; boundary=x"):
        response = browser.post(PATH, f"token={token}", content_type=kind, headers=headers)
        assert (response.status_code, response.json()["error"]) == (400, "invalid_request")
    response = browser.post(f"{PATH}?token={token}", "", content_type=FORM, headers=headers)
    assert (response.status_code, response.json()["error"]) == (400, "invalid_request")


# --- Limits, usage and request log ---


def test_the_limits_of_the_api_count(server: Server, token: str, key: tuple[ApiKey, str], stopped_clock: None) -> None:
    server.api.calls_per_minute, server.api.calls_per_person_per_minute = 3, 2
    server.api.save()
    reload_registry()
    for raw, most in ((token, 2), (key[1], 3)):
        answers = [server.ask(raw) for _ in range(most + 1)]
        assert [answer.status_code for answer in answers] == [200] * most + [429]
        assert 1 <= int(answers[-1]["Retry-After"]) <= 60
        assert answers[-1].json()["error"] == "temporarily_unavailable"
    # Other APIs have other limits, and inactive tokens have none.
    other = make_server("tasks")
    assert other.learn(token) == INACTIVE
    for _ in range(5):
        assert server.learn("garbage") == INACTIVE


def test_people_share_the_limit_of_the_app(server: Server, app: Client, stopped_clock: None) -> None:
    server.api.calls_per_minute = 2
    server.api.save()
    reload_registry()
    tokens = [make_access_token(app, make_account(), ["calendar.read"], CALENDAR) for _ in range(3)]
    assert [server.ask(raw).status_code for raw in tokens] == [200, 200, 429]


def test_wrong_credentials_are_limited_by_address(
    server: Server, token: str, settings: Any, stopped_clock: None
) -> None:
    settings.FAILURES_PER_MINUTE = 2
    statuses = [post({"token": token}, basic("api_x", "y"), REMOTE_ADDR="198.51.100.7").status_code for _ in range(3)]
    assert statuses == [401, 401, 429]
    # The right credential still works from there.
    good = post({"token": token}, server.authorization, REMOTE_ADDR="198.51.100.7")
    assert good.json()["active"] is True


def test_calls_are_counted_and_logged(server: Server, token: str, key: tuple[ApiKey, str], app: Client) -> None:
    server.ask(token)
    server.ask(key[1])
    usage_counts.flush_usage()
    of_app, of_key = RequestLog.objects.order_by("pk")
    for row in (of_app, of_key):
        assert (row.api, row.method, row.path, row.status, row.code) == ("calendar", "POST", PATH, 200, "")
    assert (of_app.project, of_app.client, of_app.credential) == (app.project, app.client_id, "")
    assert (of_key.project, of_key.client, of_key.credential) == (key[0].project, "", key[0].public_id)
    assert set(UsageBucket.objects.values_list("endpoint", "count")) == {("calendar", 1)}
    key[0].refresh_from_db()
    assert key[0].last_used_at is not None
    # The address is that of the API's server, not of the program with the key.
    assert key[0].last_used_address is None


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("access is removed", "invalid_token"),
        ("the project is suspended", "project_suspended"),
        ("consent is withdrawn", "insufficient_scope"),
    ],
)
def test_refused_calls_of_known_tokens_are_logged(server: Server, token: str, app: Client, end: str, code: str) -> None:
    ENDS[end]()
    server.ask(token)
    usage_counts.flush_usage()
    row = RequestLog.objects.get()
    assert (row.code, row.status) == (code, 403 if code == "insufficient_scope" else 401)
    assert row.project == app.project


# --- Budget ---


@pytest.mark.parametrize("which", ["token", "key"])
def test_an_active_answer_is_exactly_one_statement(
    server: Server, token: str, key: tuple[ApiKey, str], which: str, django_assert_num_queries: Callable[[int], Any]
) -> None:
    raw = token if which == "token" else key[1]
    signing_keys.reload_keyring()
    server.ask(raw)
    with django_assert_num_queries(1):
        assert server.learn(raw)["active"] is True


def test_refusals_cost_no_more(server: Server, token: str, django_assert_num_queries: Callable[[int], Any]) -> None:
    signing_keys.reload_keyring()
    server.ask(token)
    for authorization in (server.authorization, basic("api_x", "y"), basic(server.row.public_id, "y")):
        for raw in ("garbage", token):
            with django_assert_num_queries(1):
                post({"token": raw}, authorization)
    counters.cache_clear()
