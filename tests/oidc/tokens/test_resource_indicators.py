"""Tokens for the company's own APIs (RFC 8707, docs/sign-in.md#resource-indicators)."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings

from api import usage_counts
from core import clock
from devportal.console.models import SignInEvent
from oidc.apis.registry import reload_registry
from oidc.models import Api, Client, Connection, TokenFamily
from oidc.values.reasons import Reason
from tests import factories
from tests.browsing import Browser
from tests.relying_party import FORM, RelyingParty, answer_of, claims_of, sign_in

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


@pytest.mark.parametrize(
    ("asked", "audience", "scope"),
    [
        (READ, CALENDAR, "calendar.read"),
        ("openid email offline_access", settings.BASE_URL, "openid email offline_access"),
        (SEVERAL, settings.BASE_URL, "openid email offline_access"),
    ],
    ids=["one API", "no API", "several APIs"],
)
def test_scopes_of_one_api_imply_it(party: RelyingParty, asked: str, audience: str, scope: str) -> None:
    tokens = party.tokens(scope=asked)
    claims = claims_of(tokens["access_token"])
    assert (claims["aud"], claims["scope"], tokens["scope"]) == (audience, scope, scope)
    assert tokens["id_token"]
    assert tokens["refresh_token"]


def test_the_refresh_token_gets_a_token_for_each_api(party: RelyingParty) -> None:
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    for resource, scope in ((CALENDAR, "calendar.read"), (TASKS, "tasks.read"), (settings.BASE_URL, None)):
        answer = party.refresh(refresh, resource=resource).json()
        claims = claims_of(answer["access_token"])
        assert claims["aud"] == resource
        assert claims["scope"] == answer["scope"] == (scope or "openid email offline_access")
        refresh = answer["refresh_token"]
    answer = party.refresh(refresh, scope="tasks.read").json()
    assert claims_of(answer["access_token"])["aud"] == TASKS, "the scopes of one API imply it"


def test_the_code_exchange_accepts_a_resource(party: RelyingParty) -> None:
    answer = party.exchange(party.code(scope=SEVERAL), resource=TASKS).json()
    assert claims_of(answer["access_token"])["aud"] == TASKS
    assert claims_of(answer["id_token"])["email"]


def test_an_empty_resource_beside_another_counts_as_left_out(party: RelyingParty) -> None:
    """As in every request, a parameter without a value counts as missing (RFC 6749 §3.1)."""
    for values in (["", TASKS], [TASKS, ""]):
        form = {
            "grant_type": "authorization_code",
            "code": party.code(scope=SEVERAL),
            "redirect_uri": party.redirect_uri,
            "code_verifier": party.verifier,
        }
        assert claims_of(posted(party, form, *values).json()["access_token"])["aud"] == TASKS


# --- Userinfo ---

SIGN_IN = "openid email offline_access calendar.read"


def works_at_userinfo(party: RelyingParty, answer: Any, *claims: str) -> bool:
    """Return whether a token for the calendar works at userinfo, and check that it never works at `/v1`."""
    token = answer["access_token"]
    assert claims_of(token)["aud"] == CALENDAR
    assert claims_of(token)["scope"] == answer["scope"] == "calendar.read"
    assert party.call("/v1/me", token).json()["error"]["code"] == "invalid_token"
    response = party.call("/connect/userinfo", token)
    if response.status_code == 200:
        assert set(response.json()) == {"sub", *claims}
        return True
    assert response.status_code == 401
    assert response.json() == {
        "error": "invalid_token",
        "error_description": f"The access token is only for the API {CALENDAR}. Request one with the resource "
        f"{settings.BASE_URL}.",
    }
    assert response["WWW-Authenticate"].endswith(f'resource {settings.BASE_URL}.", scope="openid"')
    return False


def test_a_token_whose_api_was_only_implied_also_works_at_userinfo(party: RelyingParty) -> None:
    """Libraries that always call userinfo can sign people in to apps that also ask for a scope of an API."""
    tokens = party.tokens(scope=SIGN_IN)
    assert works_at_userinfo(party, tokens, "email", "email_verified")
    for changes, claims in (
        ({}, ("email", "email_verified")),
        ({"scope": "calendar.read"}, ()),
        ({"resource": ""}, ("email", "email_verified")),
    ):
        tokens = party.refresh(tokens["refresh_token"], **changes).json()
        assert works_at_userinfo(party, tokens, *claims), changes


@pytest.mark.parametrize("spelling", [CALENDAR, f"{CALENDAR}/"])
@pytest.mark.parametrize("sent_at", ["authorization", "exchange", "refresh"])
def test_a_token_that_was_asked_for_with_resource_never_works_at_userinfo(
    party: RelyingParty, sent_at: str, spelling: str
) -> None:
    """Nor does any token that the same authorization gets later, with or without `resource`."""
    asked = [spelling] if sent_at == "authorization" else []
    code = answer_of(party.answer_consent(_authorize(party, SIGN_IN, *asked)))["code"]
    tokens = party.exchange(code, **({"resource": spelling} if sent_at == "exchange" else {})).json()
    if sent_at == "refresh":
        tokens = party.refresh(tokens["refresh_token"], resource=spelling).json()
    assert not works_at_userinfo(party, tokens)
    for changes in ({}, {"resource": CALENDAR}, {"scope": "openid email calendar.read"}, {"resource": ""}, {}):
        tokens = party.refresh(tokens["refresh_token"], **changes).json()
        assert not works_at_userinfo(party, tokens), changes
    # A token for the API at /v1 has to be asked for.
    token = party.refresh(tokens["refresh_token"], resource=settings.BASE_URL).json()["access_token"]
    assert party.call("/connect/userinfo", token).json()["email"] == party.call("/v1/me", token).json()["email"]


def test_a_lost_response_changes_nothing_about_userinfo(party: RelyingParty) -> None:
    Client.objects.filter(pk=party.client.pk).update(forgive_lost_responses=True)
    first = party.exchange(party.code(scope=SIGN_IN), resource=CALENDAR).json()["refresh_token"]
    party.refresh(first)
    assert not works_at_userinfo(party, party.refresh(first).json())


def test_after_a_withdrawn_approval_resource_is_not_replaced_by_v1(party: RelyingParty) -> None:
    """The app may pass the token on to the API that it asked for, which must not get one for userinfo."""
    Client.objects.filter(pk=party.client.pk).update(approved_scopes="calendar.write")
    code = party.code(scope="openid offline_access calendar.write")
    refresh = party.exchange(code, resource=CALENDAR).json()["refresh_token"]
    Client.objects.filter(pk=party.client.pk).update(approved_scopes="")
    for changes in ({}, {"resource": CALENDAR}):
        assert refused(party.refresh(refresh, **changes)).startswith("invalid_target: No scope of the resource")
    assert party.refresh(refresh, resource=settings.BASE_URL).status_code == 200
    # A token that was asked for without a resource is for /v1 then, so that people can still sign in.
    Client.objects.filter(pk=party.client.pk).update(approved_scopes="calendar.write")
    refresh = party.tokens(scope="openid offline_access calendar.write")["refresh_token"]
    Client.objects.filter(pk=party.client.pk).update(approved_scopes="")
    answer = party.refresh(refresh).json()
    assert claims_of(answer["access_token"])["aud"] == settings.BASE_URL


def test_userinfo_of_an_implied_api_ends_with_the_access(party: RelyingParty) -> None:
    token = party.tokens(scope=SIGN_IN)["access_token"]
    Connection.objects.update(removed_at=clock.now())
    assert party.call("/connect/userinfo", token).status_code == 401


def test_userinfo_costs_one_statement_as_before(
    party: RelyingParty, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    implied = party.tokens(scope=SIGN_IN)["access_token"]
    asked_for = party.exchange(party.code(scope=SIGN_IN), resource=CALENDAR).json()["access_token"]
    for token in (implied, asked_for):
        with django_assert_max_num_queries(1):
            party.call("/connect/userinfo", token)


def test_the_log_says_which_api_a_token_is_for(party: RelyingParty) -> None:
    token = party.exchange(party.code(scope=SIGN_IN), resource=CALENDAR).json()["access_token"]
    party.call("/connect/userinfo", token)
    usage_counts.flush_usage()
    entry = SignInEvent.objects.get(endpoint="userinfo")
    assert (entry.client, entry.outcome, entry.error) == (party.client, "refused", "invalid_token")
    assert entry.reason == Reason.ACCESS_TOKEN_OF_OTHER_API
    assert CALENDAR in entry.reason_text
    assert entry.family == TokenFamily.objects.get().pk


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("https://nobody.example.com", "invalid_target: No API of this service has the identifier"),
        (CALENDAR + "//", "invalid_target: No API of this service has the identifier"),
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


@pytest.mark.parametrize("resource", [f"{CALENDAR}/", "HTTPS://CALENDAR.example.com/"])
def test_a_resource_may_be_spelled_as_libraries_do(party: RelyingParty, resource: str) -> None:
    """The token has the declared identifier as its `aud`. The Python SDK of MCP always sends the slash."""
    code = answer_of(party.answer_consent(_authorize(party, READ, resource)))["code"]
    tokens = party.exchange(code, resource=resource).json()
    assert claims_of(tokens["access_token"])["aud"] == CALENDAR
    tokens = party.refresh(tokens["refresh_token"], resource=resource).json()
    assert claims_of(tokens["access_token"])["aud"] == CALENDAR


@pytest.mark.parametrize("resource", [f"{settings.BASE_URL}/", settings.BASE_URL.upper()])
def test_the_api_at_v1_may_be_spelled_as_libraries_do(party: RelyingParty, resource: str) -> None:
    token = party.exchange(party.code(), resource=resource).json()["access_token"]
    assert claims_of(token)["aud"] == settings.BASE_URL


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
    answer = refreshed(party, TASKS, TASKS + "/")
    assert claims_of(answer.json()["access_token"])["aud"] == TASKS


def test_two_resources_in_one_token_request_are_refused(party: RelyingParty) -> None:
    response = refreshed(party, CALENDAR, TASKS)
    assert refused(response) == "invalid_target: A token is for one resource. Send resource only once."


def test_a_scope_of_another_api_is_refused_with_a_resource(party: RelyingParty) -> None:
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    response = party.refresh(refresh, resource=CALENDAR, scope="tasks.read")
    assert refused(response).startswith("invalid_scope: The scope tasks.read does not belong")


def test_a_refresh_may_repeat_all_scopes_beside_a_resource(party: RelyingParty) -> None:
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    answer = party.refresh(refresh, resource=CALENDAR, scope=SEVERAL).json()
    assert (answer["scope"], claims_of(answer["access_token"])["aud"]) == ("calendar.read", CALENDAR)


def posted(party: RelyingParty, form: dict[str, str], *resources: str) -> Any:
    """Send a token request with these resources."""
    body = f"{urlencode(form | party.credentials())}&{urlencode({'resource': resources}, doseq=True)}"
    return Browser().post("/connect/token", body, content_type=FORM)


def refreshed(party: RelyingParty, *resources: str) -> Any:
    """Refresh a token for SEVERAL, with these resources."""
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    return posted(party, {"grant_type": "refresh_token", "refresh_token": refresh}, *resources)


def _sign_in(party: RelyingParty, *optional: str, **changes: str) -> Any:
    """Return the token response to a sign-in for SEVERAL, with these optional scopes ticked."""
    page = party.authorize(scope=SEVERAL, **changes)
    return party.exchange(answer_of(party.answer_consent(page, optional=optional))["code"]).json()


def test_scopes_that_are_withdrawn_or_left_out_change_no_audience(party: RelyingParty) -> None:
    Client.objects.filter(pk=party.client.pk).update(optional_scopes="tasks.read")
    both = _sign_in(party, "tasks.read")
    left_out = _sign_in(party, prompt="consent")  # which withdraws it
    assert claims_of(left_out["access_token"])["aud"] == CALENDAR
    for changes in ({}, {"scope": SEVERAL}):
        both = party.refresh(both["refresh_token"], **changes).json()
        claims = claims_of(both["access_token"])
        assert (claims["aud"], claims["scope"]) == (settings.BASE_URL, "openid email offline_access"), changes
        left_out = party.refresh(left_out["refresh_token"], **changes).json()
        assert claims_of(left_out["access_token"])["aud"] == CALENDAR, changes


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


def supported_scopes() -> set[str]:
    return set(Browser().get("/.well-known/openid-configuration").json()["scopes_supported"])


def test_an_api_that_is_turned_off_gets_no_tokens(party: RelyingParty, apis: dict[str, Api]) -> None:
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    assert {"calendar.read", "calendar.write", "tasks.read"} <= supported_scopes()
    Api.objects.filter(slug="calendar").update(enabled=False)
    reload_registry()
    assert not {"calendar.read", "calendar.write"} & supported_scopes()
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


def test_a_description_has_only_the_characters_that_it_may_have(party: RelyingParty, apis: dict[str, Api]) -> None:
    """RFC 6749 §4.1.2.1: neither quotes and backslashes nor characters that are not ASCII."""
    refresh = party.tokens(scope=SEVERAL)["refresh_token"]
    Api.objects.filter(slug="calendar").update(enabled=False, name='Caf\u00e9 "\\"')
    reload_registry()
    assert refused(party.refresh(refresh, resource=CALENDAR)) == "invalid_target: The API Caf? ??? is turned off."
