"""Trying a sign-out URL: the endpoint's own checks, without a person and without a trace."""

from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from oidc.authorization.tester import CheckResult
from oidc.models import ProjectMember
from oidc.sign_out.tester import check_sign_out, is_sign_out
from tests.factories import SIGN_OUT_URI, make_client
from tests.relying_party import RelyingParty

HERE = "http://localhost:8000/connect/logout"


@pytest.fixture
def good(app: RelyingParty) -> dict[str, str]:
    hint = app.tokens()["id_token"]
    return {"id_token_hint": hint, "post_logout_redirect_uri": SIGN_OUT_URI, "client_id": app.client.client_id}


def failed(results: list[CheckResult]) -> dict[str, str]:
    return {result.name: result.reason for result in results if result.passed is False}


@pytest.mark.parametrize("pasted", ["{here}?{query}", "{query}", "?{query}", "  {here}?{query}#part\n"])
def test_a_good_request_passes(app: RelyingParty, good: dict[str, str], pasted: str) -> None:
    text = pasted.format(here=HERE, query=urlencode(good))
    assert is_sign_out(text)
    results = check_sign_out(app.client, text)
    assert all(result.passed and not result.note for result in results)


def test_what_is_a_sign_out_request(app: RelyingParty) -> None:
    query = urlencode(app.parameters(id_token_hint="x"))
    assert not is_sign_out(query)
    assert not is_sign_out(f"http://localhost:8000/connect/authorize?{query}")
    assert not is_sign_out("")
    assert is_sign_out(HERE)
    assert is_sign_out("https://elsewhere.example.com/connect/logout?state=1")


@pytest.mark.parametrize(
    ("changes", "check", "reason"),
    [
        ({"post_logout_redirect_uri": SIGN_OUT_URI + "x"}, "sign_out_uri", "Differs from"),
        ({"id_token_hint": "x.y.z"}, "sign_out_hint", "is not an ID token of this service"),
        ({"id_token_hint": ""}, "sign_out_hint", "without id_token_hint"),
        ({"client_id": "op_client_other"}, "sign_out_client", "is not the client that got the ID token"),
        ({"state": "\x00"}, "sign_out_parameters", "state is repeated or unreadable"),
        ({"state": "x" * 5000}, "readable", "longer than"),
    ],
)
def test_each_failure_is_named(
    app: RelyingParty, good: dict[str, str], changes: dict[str, str], check: str, reason: str
) -> None:
    found = failed(check_sign_out(app.client, urlencode(good | changes)))
    assert list(found) == [check]
    assert reason in found[check]


def test_every_possible_check_runs(app: RelyingParty) -> None:
    results = check_sign_out(app.client, "https://x.example/connect/logout?id_token_hint=x&post_logout_redirect_uri=y")
    assert set(failed(results)) == {"sign_out_address", "sign_out_hint", "sign_out_uri"}
    assert [result.name for result in results if result.passed is None] == ["sign_out_client"]


def test_what_leads_to_the_question_is_a_note(app: RelyingParty, good: dict[str, str]) -> None:
    for query in ({"state": "1"}, {"id_token_hint": good["id_token_hint"]}):
        results = check_sign_out(app.client, f"{HERE}?{urlencode(query)}")
        assert not failed(results)
        assert any("asked to confirm" in result.note for result in results)


def test_an_id_token_of_another_client_is_not_looked_up(app: RelyingParty, good: dict[str, str]) -> None:
    other = make_client(app.client.project, name="Other")
    with CaptureQueriesContext(connection) as queries:
        found = failed(check_sign_out(other, urlencode(good)))
    assert "another client got the ID token" in found["sign_out_client"]
    assert not [query for query in queries if "client" in query["sql"]]


def test_the_page_shows_each_check_and_its_fix(app: RelyingParty, good: dict[str, str]) -> None:
    account_id = app.browser.session["_auth_user_id"]
    ProjectMember.objects.update_or_create(
        account_id=account_id, project=app.client.project, defaults={"role": "developer"}
    )
    path = reverse("console:client_tester", args=[app.client.project.public_id, app.client.client_id])
    page = app.browser.post(path, {"url": f"{HERE}?{urlencode(good)}"}).content.decode()
    assert "The request passes." in page
    assert "returns to your app without being asked" in page
    wrong = good | {"post_logout_redirect_uri": "https://app.example.com/new", "id_token_hint": "x"}
    response = app.browser.post(path, {"url": urlencode(wrong)})
    page = response.content.decode()
    assert "The request would be refused." in page
    assert "asked to confirm" in page
    assert "?add_sign_out=https%3A%2F%2Fapp.example.com%2Fnew" in page
    assert all(step.fix.text and step.fix.url for step in response.context["steps"] if step.result.passed is False)


@pytest.mark.parametrize("text", ["?%", "id_token_hint=%ff&id_token_hint=", HERE])
def test_nonsense_is_handled(app: RelyingParty, text: str) -> None:
    assert check_sign_out(app.client, text)


def test_the_tester_answers_as_the_endpoint(app: RelyingParty, good: dict[str, str]) -> None:
    changes: tuple[dict[str, str], ...] = (
        {},
        {"post_logout_redirect_uri": "https://x.example/"},
        {"id_token_hint": "x"},
        {"client_id": "x"},
    )
    for changed in changes:
        query = urlencode(good | changed)
        passes = not failed(check_sign_out(app.client, query))
        location = Browser().get(f"/connect/logout?{query}")["Location"]
        assert passes == (location == SIGN_OUT_URI), changed
