"""Trying an authorization request: the endpoint's own checks, without a person and without a trace."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core import clock
from oidc.authorization import checks
from oidc.authorization.tester import CHECKS, TITLES, CheckResult, check_request
from oidc.models import Client
from tests import factories
from tests.factories import make_client
from tests.relying_party import RelyingParty

HERE = "http://localhost:8000/connect/authorize"


def failure(steps: list[CheckResult]) -> CheckResult:
    """Return the first step that failed; each that did not run says which failed one it needs."""
    place = [step.passed for step in steps].index(False)
    assert all(step.passed for step in steps[:place])
    stuck = {step.title for step in steps if not step.passed}
    assert all((step.passed is None) == bool(step.needs) for step in steps)
    assert {step.needs for step in steps if step.needs} <= stuck
    return steps[place]


def test_the_tester_runs_every_check_in_order() -> None:
    before = checks.CHECKS[: checks.CHECKS.index(checks.check_signed_in)]
    assert set(before) == set(TITLES)
    titles = [check.title for check in CHECKS]
    assert [title for title in titles if title in TITLES.values()] == [TITLES[check] for check in before]


@pytest.mark.parametrize("pasted", ["{here}?{query}", "{query}", "?{query}", "  {here}?{query}#part\n"])
def test_a_good_request_passes(app: RelyingParty, pasted: str) -> None:
    text = pasted.format(here=HERE, query=urlencode(app.parameters()))
    assert all(step.passed for step in check_request(app.client, text))


def test_line_breaks_of_a_terminal_are_ignored(app: RelyingParty) -> None:
    text = f"{HERE}?{urlencode(app.parameters())}"
    wrapped = "\r\n".join(text[start : start + 60] for start in range(0, len(text), 60))
    assert all(step.passed for step in check_request(app.client, wrapped))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"client_id": "op_client_another"}, "but the request has another client_id"),
        ({"client_id": None}, "No app with this client_id"),
        ({"redirect_uri": None}, "redirect_uri is missing"),
        ({"redirect_uri": "https://app.example.com/callback/"}, "only by the slash at the end"),
        ({"redirect_uri": "https://other.example.com/callback"}, "the host is “other.example.com”"),
    ],
)
def test_requests_that_end_on_an_error_page(app: RelyingParty, changes: dict[str, Any], reason: str) -> None:
    failed = failure(check_request(app.client, urlencode(app.parameters(**changes))))
    assert reason in failed.reason
    assert failed.error == ""


@pytest.mark.parametrize(
    ("changes", "error", "reason"),
    [
        ({"state": None}, "invalid_request", "state is missing"),
        ({"response_type": "token"}, "unsupported_response_type", ""),
        ({"code_challenge": None}, "invalid_request", "PKCE is required"),
        ({"code_challenge_method": "plain"}, "invalid_request", "must be S256"),
        ({"max_age": "soon"}, "invalid_request", "max_age"),
        ({"scope": "openid account.read"}, "invalid_scope", "account.read"),
        ({"id_token_hint": "nonsense"}, "invalid_request", "id_token_hint"),
    ],
)
def test_errors_that_the_app_would_receive(app: RelyingParty, changes: dict[str, Any], error: str, reason: str) -> None:
    """The very error that the endpoint answers with."""
    failed = failure(check_request(app.client, urlencode(app.parameters(**changes))))
    assert failed.error == error
    assert reason in failed.reason
    assert f"error={error}" in app.authorize(**changes)["Location"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("https://login.example.com/connect/authorize?client_id=x", f"Send authorization requests to {HERE}"),
        ("http://localhost:8000/connect/token?client_id=x", "Send authorization requests to"),
        ("hello", "Send authorization requests to"),
        ("&".join(f"a{number}=1" for number in range(200)), "too many parameters"),
    ],
)
def test_input_that_is_not_an_authorization_request(app: RelyingParty, text: str, reason: str) -> None:
    assert reason in failure(check_request(app.client, text)).reason


def test_a_repeated_and_an_unreadable_parameter(app: RelyingParty) -> None:
    query = urlencode(app.parameters())
    assert "repeated" in failure(check_request(app.client, f"{query}&state=again")).reason
    assert "unreadable" in failure(check_request(app.client, f"{query}&login_hint=%00")).reason


def test_an_app_that_is_off(app: RelyingParty) -> None:
    query = urlencode(app.parameters())
    Client.objects.update(enabled=False)
    assert failure(check_request(app.client, query)).reason == "The app is turned off."
    Client.objects.update(enabled=True)
    app.client.project.suspended_at = clock.now()
    app.client.project.save()
    assert failure(check_request(app.client, query)).reason == "The project is suspended."


def test_every_possible_check_runs(app: RelyingParty) -> None:
    wrong = {
        "redirect_uri": "https://app.example.com/other",
        "state": None,
        "code_challenge_method": "plain",
        "prompt": "none login",
        "scope": "email",
    }
    Client.objects.update(enabled=False)
    app.client.refresh_from_db()
    results = check_request(app.client, urlencode(app.parameters(**wrong)))
    failed = [result.name for result in results if result.passed is False]
    assert failed == [
        "check_redirect_uri",
        "check_client_enabled",
        "check_parameters",
        "check_code_challenge",
        "check_prompt",
        "check_scope",
    ]
    assert [result.name for result in results if result.passed is None] == ["check_resource"]  # it needs the scopes


def test_a_skipped_check_names_what_it_needs(app: RelyingParty) -> None:
    results = check_request(app.client, "&".join(f"a{number}=1" for number in range(200)))
    assert [result.name for result in results if result.passed] == ["address", "check_client_enabled"]
    assert {result.needs for result in results if result.passed is None} == {"The parameters are readable"}


def test_a_foreign_client_id_leaves_the_rest_to_this_client(app: RelyingParty) -> None:
    query = urlencode(app.parameters(client_id=make_client().client_id))
    results = {result.name: result for result in check_request(app.client, query)}
    assert results["this_client"].passed is False
    assert results["this_client"].title == "client_id is the id of this client"
    assert results["check_client"].needs == "client_id is the id of this client"
    assert results["check_redirect_uri"].passed


def test_the_tester_stores_nothing(app: RelyingParty) -> None:
    with CaptureQueriesContext(connection) as queries:
        check_request(app.client, urlencode(app.parameters(redirect_uri="https://evil.example/")))
    assert {query["sql"].split()[0] for query in queries} == {"SELECT"}


# --- Resources (RFC 8707) ---

CALENDAR, TASKS = "https://calendar.example.com", "https://tasks.example.com"


def tried(app: RelyingParty, scope: str, *resources: str) -> list[CheckResult]:
    query = [*app.parameters(scope=scope).items(), *(("resource", resource) for resource in resources)]
    return check_request(app.client, urlencode(query))


def test_the_tester_says_which_api_the_token_is_for(app: RelyingParty) -> None:
    factories.make_api("calendar")
    factories.make_api("tasks")
    for scope, resources, expected in (
        ("openid email", (), ""),
        ("openid calendar.read", (CALENDAR,), f"is for Calendar, and its aud is {CALENDAR}."),
        ("openid calendar.read tasks.read", (CALENDAR, TASKS), "is for Openport account API"),
    ):
        results = tried(app, scope, *resources)
        assert all(result.passed for result in results)
        (result,) = [result for result in results if result.name == "check_resource"]
        assert expected in result.note
        assert bool(result.note) == bool(expected)


@pytest.mark.parametrize(
    ("scope", "resources", "reason"),
    [
        ("openid calendar.read", ("https://nobody.example.com",), "No API of this service has the identifier"),
        ("openid calendar.read", (CALENDAR + "#part",), "No API of this service has the identifier"),
        ("openid calendar.read", (TASKS,), "scope contains no scope of the resource https://tasks.example.com."),
        ("openid calendar.read tasks.read", (CALENDAR,), "The scope tasks.read does not belong"),
    ],
)
def test_the_tester_explains_a_wrong_resource(
    app: RelyingParty, scope: str, resources: tuple[str, ...], reason: str
) -> None:
    factories.make_api("calendar")
    factories.make_api("tasks")
    result = failure(tried(app, scope, *resources))
    assert (result.name, result.error) == (
        "check_resource",
        "invalid_scope" if "does not" in reason else "invalid_target",
    )
    assert reason in result.reason
