"""Tokens for the company's own APIs (RFC 8707, docs/sign-in.md#resource-indicators)."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings

from oidc.apis.registry import reload_registry
from oidc.models import Api, Client
from tests import factories
from tests.browsing import Browser
from tests.relying_party import RelyingParty, answer_of, claims_of, sign_in

pytestmark = pytest.mark.django_db
CALENDAR = "https://calendar.example.com"
TASKS = "https://tasks.example.com"
READ = "openid offline_access calendar.read"
SEVERAL = "openid email offline_access calendar.read tasks.read"


@pytest.fixture
def apis() -> dict[str, Api]:
    return {slug: factories.make_api(slug) for slug in ("calendar", "tasks")}


@pytest.fixture
def party(apis: dict[str, Api]) -> RelyingParty:
    client, secret = factories.make_web_client(name="Planner")
    return RelyingParty(client, sign_in(Browser(), factories.make_account()), secret)


def refused(response: Any) -> str:
    assert response.status_code == 400, response.content
    body = response.json()
    return f"{body['error']}: {body['error_description']}"


def test_scopes_of_one_api_imply_it(party: RelyingParty) -> None:
    tokens = party.tokens(scope=READ)
    claims = claims_of(tokens["access_token"])
    assert (claims["aud"], claims["scope"], tokens["scope"]) == (CALENDAR, "calendar.read", "calendar.read")
    assert tokens["id_token"]
    assert tokens["refresh_token"]


def test_without_scopes_of_an_api_the_token_is_as_before(party: RelyingParty) -> None:
    tokens = party.tokens()
    claims = claims_of(tokens["access_token"])
    assert claims["aud"] == settings.BASE_URL
    assert claims["scope"] == tokens["scope"] == "openid email profile offline_access"


def test_with_scopes_of_several_apis_the_token_is_for_v1(party: RelyingParty) -> None:
    tokens = party.tokens(scope=SEVERAL)
    claims = claims_of(tokens["access_token"])
    assert (claims["aud"], claims["scope"]) == (settings.BASE_URL, "openid email offline_access")
    assert party.call("/connect/userinfo", tokens["access_token"]).status_code == 200


def test_the_refresh_token_gets_a_token_for_each_api(party: RelyingParty) -> None:
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    for resource, scope in ((CALENDAR, "calendar.read"), (TASKS, "tasks.read"), (settings.BASE_URL, None)):
        answer = party.refresh(refresh, resource=resource).json()
        claims = claims_of(answer["access_token"])
        assert claims["aud"] == resource
        assert claims["scope"] == answer["scope"] == (scope or "openid email offline_access")
        refresh = answer["refresh_token"]


def test_the_code_exchange_accepts_a_resource(party: RelyingParty) -> None:
    answer = party.exchange(party.code(scope=SEVERAL), resource=TASKS).json()
    assert claims_of(answer["access_token"])["aud"] == TASKS
    assert claims_of(answer["id_token"])["email"]


def test_an_empty_resource_beside_another_counts_as_left_out(party: RelyingParty) -> None:
    """As in every request, a parameter without a value counts as missing (RFC 6749 §3.1)."""
    for values in (["", TASKS], [TASKS, ""]):
        form = party.credentials() | {
            "grant_type": "authorization_code",
            "code": party.code(scope=SEVERAL),
            "redirect_uri": party.redirect_uri,
            "code_verifier": party.verifier,
        }
        body = f"{urlencode(form)}&{urlencode({'resource': values}, doseq=True)}"
        answer = Browser().post("/connect/token", body, content_type="application/x-www-form-urlencoded")
        assert claims_of(answer.json()["access_token"])["aud"] == TASKS


def test_a_refresh_with_the_scopes_of_one_api_implies_it(party: RelyingParty) -> None:
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    assert claims_of(party.refresh(refresh, scope="tasks.read").json()["access_token"])["aud"] == TASKS


def test_a_token_of_another_api_opens_neither_v1_nor_userinfo(party: RelyingParty) -> None:
    token = party.tokens(scope="openid email profile calendar.read")["access_token"]
    assert claims_of(token)["aud"] == CALENDAR
    assert party.call("/v1/me", token).json()["error"]["code"] == "invalid_token"
    assert party.call("/connect/userinfo", token).status_code == 401


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("https://nobody.example.com", "invalid_target: No API of this service has the identifier"),
        (CALENDAR + "//", "invalid_target: No API of this service has the identifier"),
        (CALENDAR + "/V2", "invalid_target: No API of this service has the identifier"),
        (CALENDAR + "?", "invalid_target: No API of this service has the identifier"),
        # The Kelvin sign, whose lower case is k.
        ("https://tas\u212as.example.com", "invalid_target: No API of this service has the identifier"),
        (CALENDAR + "#part", "invalid_target: No API of this service has the identifier"),
        (TASKS, "invalid_target: No scope of the resource https://tasks.example.com is granted."),
        ('"<\\', "invalid_target: No API of this service has the identifier ?<?."),
    ],
)
def test_a_resource_that_is_unknown_or_not_granted_is_refused(
    party: RelyingParty, resource: str, expected: str
) -> None:
    refresh = party.tokens(scope=READ)["refresh_token"]
    assert refused(party.refresh(refresh, resource=resource)).startswith(expected)
    assert party.refresh(refresh, resource=CALENDAR).status_code == 200


@pytest.mark.parametrize("resource", [f"{CALENDAR}/", "HTTPS://Calendar.EXAMPLE.com", "HTTPS://CALENDAR.example.com/"])
def test_a_resource_may_be_spelled_as_libraries_do(party: RelyingParty, resource: str) -> None:
    """The token has the declared identifier as its `aud`. The Python SDK of MCP always sends the slash."""
    code = answer_of(party.answer_consent(_authorize(party, READ, resource)))["code"]
    tokens = party.exchange(code, resource=resource).json()
    assert claims_of(tokens["access_token"])["aud"] == CALENDAR
    assert (
        claims_of(party.refresh(tokens["refresh_token"], resource=resource).json()["access_token"])["aud"] == CALENDAR
    )


@pytest.mark.parametrize("resource", [f"{settings.BASE_URL}/", settings.BASE_URL.upper()])
def test_the_api_at_v1_may_be_spelled_as_libraries_do(party: RelyingParty, resource: str) -> None:
    token = party.exchange(party.code(), resource=resource).json()["access_token"]
    assert claims_of(token)["aud"] == settings.BASE_URL
    assert party.call("/v1/me", token).status_code == 200


@pytest.mark.parametrize("declared", ["https://files.example.com/v1", "https://files.example.com/v1/"])
def test_the_path_of_an_identifier_is_compared_up_to_one_slash(declared: str) -> None:
    Api.objects.filter(pk=factories.make_api("files").pk).update(identifier=declared)
    registry = reload_registry()
    for spelled in ("https://files.example.com/v1", "https://FILES.example.com/v1/"):
        found = registry.api_with_identifier(spelled)
        assert found is not None
        assert found.identifier == declared
    for other in ("https://files.example.com/V1", "https://files.example.com/v1//", "https://files.example.com"):
        assert registry.api_with_identifier(other) is None


def test_two_spellings_of_a_resource_are_one(party: RelyingParty) -> None:
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    form = {"grant_type": "refresh_token", "refresh_token": refresh} | party.credentials()
    body = f"{urlencode(form)}&{urlencode({'resource': [TASKS, TASKS + '/']}, doseq=True)}"
    answer = Browser().post("/connect/token", body, content_type="application/x-www-form-urlencoded")
    assert claims_of(answer.json()["access_token"])["aud"] == TASKS


def test_two_resources_in_one_token_request_are_refused(party: RelyingParty) -> None:
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    form = {"grant_type": "refresh_token", "refresh_token": refresh} | party.credentials()
    body = f"{urlencode(form)}&{urlencode({'resource': CALENDAR})}&{urlencode({'resource': TASKS})}"
    response = Browser().post("/connect/token", body, content_type="application/x-www-form-urlencoded")
    assert refused(response) == "invalid_target: A token is for one resource. Send resource only once."


def test_a_scope_of_another_api_is_refused_with_a_resource(party: RelyingParty) -> None:
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    response = party.refresh(refresh, resource=CALENDAR, scope="tasks.read")
    assert refused(response).startswith("invalid_scope: The scope tasks.read does not belong")


def test_a_refresh_may_repeat_all_scopes_beside_a_resource(party: RelyingParty) -> None:
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    answer = party.refresh(refresh, resource=CALENDAR, scope=SEVERAL).json()
    assert (answer["scope"], claims_of(answer["access_token"])["aud"]) == ("calendar.read", CALENDAR)


def _sign_in(party: RelyingParty, *optional: str, **changes: str) -> Any:
    """Return the token response to a sign-in for SEVERAL, with these optional scopes ticked."""
    page = party.authorize(scope=SEVERAL, **changes)
    return party.exchange(answer_of(party.answer_consent(page, optional=optional))["code"]).json()


def test_a_scope_that_is_withdrawn_changes_no_audience(party: RelyingParty) -> None:
    Client.objects.filter(pk=party.client.pk).update(optional_scopes="tasks.read")
    tokens = _sign_in(party, "tasks.read")
    _sign_in(party, prompt="consent")
    for changes in ({}, {"scope": SEVERAL}):
        tokens = party.refresh(tokens["refresh_token"], **changes).json()
        claims = claims_of(tokens["access_token"])
        assert (claims["aud"], claims["scope"]) == (settings.BASE_URL, "openid email offline_access"), changes


def test_a_scope_that_is_left_out_changes_no_audience(party: RelyingParty) -> None:
    Client.objects.filter(pk=party.client.pk).update(optional_scopes="tasks.read")
    tokens = _sign_in(party)
    for changes in ({}, {"scope": SEVERAL}):
        assert claims_of(tokens["access_token"])["aud"] == CALENDAR
        tokens = party.refresh(tokens["refresh_token"], **changes).json()
    assert claims_of(tokens["access_token"])["aud"] == CALENDAR


def _authorize(party: RelyingParty, scope: str, *resources: str) -> Any:
    query = urlencode(party.parameters(scope=scope)) + "".join(f"&{urlencode({'resource': uri})}" for uri in resources)
    return party.browser.get(f"/connect/authorize?{query}")


@pytest.mark.parametrize(
    ("scope", "resources", "error"),
    [
        (READ, ["https://nobody.example.com"], "invalid_target"),
        ("openid", [CALENDAR], "invalid_target"),
        (READ, [CALENDAR, TASKS], "invalid_target"),
        (SEVERAL, [CALENDAR], "invalid_scope"),
        (READ, [CALENDAR, "\x00"], "invalid_request"),
    ],
)
def test_resources_that_do_not_fit_the_scopes_are_refused(
    party: RelyingParty, scope: str, resources: list[str], error: str
) -> None:
    assert answer_of(_authorize(party, scope, *resources))["error"] == error


@pytest.mark.parametrize("resources", [[CALENDAR], [TASKS, CALENDAR], [CALENDAR, TASKS, settings.BASE_URL]])
def test_several_resources_may_be_asked_for(party: RelyingParty, resources: list[str]) -> None:
    scope = SEVERAL if len(resources) > 1 else READ
    assert "code" in answer_of(party.answer_consent(_authorize(party, scope, *resources)))


def test_an_api_that_is_turned_off_gets_no_tokens(party: RelyingParty, apis: dict[str, Api]) -> None:
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    Api.objects.filter(slug="calendar").update(enabled=False)
    reload_registry()
    assert refused(party.refresh(refresh, resource=CALENDAR)) == "invalid_target: The API Calendar is turned off."
    assert answer_of(party.authorize(scope=READ))["error_description"] == (
        "The API of the scope calendar.read is turned off."
    )
    assert party.refresh(refresh, resource=TASKS).status_code == 200
    Api.objects.filter(slug="calendar").update(enabled=True)
    reload_registry()
    assert "code" in answer_of(party.authorize(scope=READ))


def test_a_scope_that_needs_approval_is_refused_without_it(party: RelyingParty) -> None:
    assert answer_of(party.authorize(scope="openid calendar.write"))["error"] == "invalid_scope"
    Client.objects.filter(pk=party.client.pk).update(approved_scopes="calendar.write")
    assert claims_of(party.tokens(scope="openid calendar.write")["access_token"])["scope"] == "calendar.write"


def test_after_a_withdrawn_approval_the_app_can_still_sign_people_in(party: RelyingParty) -> None:
    Client.objects.filter(pk=party.client.pk).update(approved_scopes="calendar.write")
    refresh = party.tokens(scope="openid offline_access calendar.write")["refresh_token"]
    Client.objects.filter(pk=party.client.pk).update(approved_scopes="")
    assert refused(party.refresh(refresh, resource=CALENDAR)).startswith("invalid_target: No scope of the resource")
    answer = party.refresh(refresh).json()
    assert claims_of(answer["access_token"])["aud"] == settings.BASE_URL


def test_discovery_lists_the_scopes_that_are_on(party: RelyingParty) -> None:
    def supported() -> list[str]:
        listed: list[str] = Browser().get("/.well-known/openid-configuration").json()["scopes_supported"]
        return listed

    assert {"calendar.read", "calendar.write", "tasks.read"} <= set(supported())
    Api.objects.filter(slug="calendar").update(enabled=False)
    reload_registry()
    assert not {"calendar.read", "calendar.write"} & set(supported())


def test_a_description_has_only_the_characters_that_it_may_have(party: RelyingParty, apis: dict[str, Api]) -> None:
    """RFC 6749 §4.1.2.1: neither quotes and backslashes nor characters that are not ASCII."""
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    Api.objects.filter(slug="calendar").update(enabled=False, name='Caf\u00e9 "\\"')
    reload_registry()
    assert refused(party.refresh(refresh, resource=CALENDAR)) == "invalid_target: The API Caf? ??? is turned off."
