"""Tokens for another API, and tokens without the scope: who is told what, and what the request log says."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings

from accounts.models import Account
from api import usage_counts
from api.models import RequestLog, UsageBucket
from oidc.apis.registry import reload_registry
from oidc.models import Api, Client, TokenFamily
from tests.api.calls import ME, PLAN, call, refusal
from tests.api.forwarding import ask
from tests.api.introspecting import INACTIVE, Server, make_server
from tests.factories import make_access_token, make_api, make_client, make_key, make_project

CALENDAR, TASKS = "https://calendar.example.com", "https://tasks.example.com"


@pytest.fixture
def server(db: None) -> Server:
    make_api("tasks")
    return make_server(rules=[("GET", "/events", "calendar.read"), ("POST", "/events", "calendar.write")])


@pytest.fixture
def app(server: Server) -> Client:
    return make_client()


def the_entry() -> RequestLog:
    usage_counts.flush_usage()
    entry = RequestLog.objects.exclude(project=None).get()
    assert UsageBucket.objects.get().status == entry.status  # a proven credential counts in the usage
    return entry


def at_v1(server: Server, token: str) -> Any:
    return call(ME, token)


def at_forward_auth(server: Server, token: str) -> Any:
    return ask(token)


def at_introspection(server: Server, token: str) -> Any:
    return server.ask(token)


def of_tasks(app: Client, person: Account) -> str:
    return make_access_token(app, person, ["openid", "tasks.read"], TASKS)


def of_calendar(app: Client, person: Account) -> str:
    return make_access_token(app, person, ["calendar.read"], CALENDAR)


def of_v1(app: Client, person: Account) -> str:
    return make_access_token(app, person, ["openid", "email"])


@pytest.mark.parametrize(
    ("ask_about", "make", "audience", "resource"),
    [
        (at_v1, of_tasks, TASKS, settings.BASE_URL),
        (at_v1, of_calendar, CALENDAR, settings.BASE_URL),
        (at_forward_auth, of_tasks, TASKS, CALENDAR),
        (at_forward_auth, of_v1, settings.BASE_URL, CALENDAR),
        (at_introspection, of_tasks, TASKS, CALENDAR),
        (at_introspection, of_v1, settings.BASE_URL, CALENDAR),
    ],
)
def test_a_token_for_another_api_is_named_and_logged(
    server: Server,
    app: Client,
    person: Account,
    ask_about: Callable[[Server, str], Any],
    make: Callable[[Client, Account], str],
    audience: str,
    resource: str,
) -> None:
    response = ask_about(server, make(app, person))
    if ask_about is at_introspection:
        assert response.json() == INACTIVE
    else:
        assert refusal(response) == (401, "invalid_token")
        assert response.json()["error"]["message"] == (
            f"The access token is for the API {audience}. Request one for this API with the resource {resource}."
        )
    entry = the_entry()
    assert (entry.client, entry.status, entry.code) == (app.client_id, 401, "invalid_token")
    assert entry.parameters == {"audience": audience, "resource": resource}


def test_only_a_live_token_of_this_service_says_which_api_it_is_for(
    server: Server, app: Client, person: Account
) -> None:
    token = of_tasks(app, person)
    head, claims, signature = token.split(".")
    for wrong in (f"{head}.{claims}.{signature[::-1]}", f"{head}.{claims}."):
        assert TASKS not in call(ME, wrong).content.decode()
        assert TASKS not in ask(wrong).content.decode()
    TokenFamily.objects.update(revocation_reason="ended_revoked_by_app", revoked_at=app.created)
    assert TASKS not in call(ME, token).content.decode()
    assert the_entry().parameters == {}


def test_an_api_that_was_deleted_is_still_named(server: Server, app: Client, person: Account) -> None:
    token = of_tasks(app, person)
    Api.objects.filter(slug="tasks").delete()
    reload_registry()
    assert f"for the API {TASKS}." in call(ME, token).json()["error"]["message"]


def test_a_token_for_another_api_costs_one_statement(
    server: Server, app: Client, person: Account, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    token = of_tasks(app, person)
    call(ME, token)
    with django_assert_max_num_queries(1):
        call(ME, token)


# --- Missing scopes ---


def test_the_log_says_what_a_call_needed_and_what_the_token_had(server: Server, app: Client, person: Account) -> None:
    token = make_access_token(app, person, ["openid", "calendar.read"], CALENDAR)
    response = ask(token, method="POST")
    assert refusal(response) == (403, "insufficient_scope")
    assert 'scope="openid calendar.write"' in response["WWW-Authenticate"]
    assert the_entry().parameters == {"needs": ["calendar.write"], "has": ["calendar.read"]}


@pytest.mark.parametrize(
    ("path", "scopes", "needs"),
    [(ME, ["openid"], ["profile", "email"]), (PLAN, ["openid", "email"], ["account.read"])],
)
def test_the_log_says_the_same_about_v1(
    app: Client, person: Account, path: str, scopes: list[str], needs: list[str]
) -> None:
    response = call(path, make_access_token(app, person, scopes))
    assert f'scope="openid {" ".join(needs)}"' in response["WWW-Authenticate"]
    assert the_entry().parameters == {"one_of": needs, "has": sorted(scopes)}


def test_the_log_says_the_same_about_keys(server: Server, person: Account) -> None:
    _, raw = make_key(make_project(person), person, ["calendar.read"])
    assert refusal(ask(raw, method="POST")) == (403, "insufficient_scope")
    assert the_entry().parameters == {"needs": ["calendar.write"], "has": ["calendar.read"]}


def test_a_scope_that_only_the_proxy_knows_is_not_repeated(server: Server, app: Client, person: Account) -> None:
    response = ask(of_calendar(app, person), query="?scope=calendar.read+nobodys")
    assert refusal(response) == (403, "insufficient_scope")
    assert "nobodys" not in response["WWW-Authenticate"]
    assert the_entry().parameters == {"needs": ["calendar.read"], "has": ["calendar.read"]}


def test_without_any_scope_of_the_api_the_message_is_whole(server: Server, app: Client, person: Account) -> None:
    server.api.rules.all().delete()
    reload_registry()
    response = ask(of_calendar(app, person), query="?scope=nobodys")
    assert response.json()["error"]["message"] == (
        "The proxy in front of this API requires a scope that the API does not have."
    )
    assert "scope=" not in response["WWW-Authenticate"]


# --- Challenges ---


@pytest.mark.parametrize("credential", [None, "nobodys"])
def test_a_401_names_the_scopes_to_request(server: Server, credential: str | None) -> None:
    """Agents request exactly what a challenge names, so openid is always among them."""
    assert ', scope="openid profile email", resource_metadata=' in call(ME, credential)["WWW-Authenticate"]
    assert ', scope="openid account.read", resource_metadata=' in call(PLAN, credential)["WWW-Authenticate"]
    assert ', scope="openid calendar.write", resource_metadata=' in ask(credential, method="POST")["WWW-Authenticate"]
    assert "scope=" not in ask(credential, "/none")["WWW-Authenticate"]
    assert "scope=" not in ask(credential, "/a%2fb")["WWW-Authenticate"]
    assert 'scope="openid"' in call("/connect/userinfo", credential)["WWW-Authenticate"]
