"""Optional scopes: what people may leave out, what the app then gets, and a form that can narrow and never widen."""

from typing import Any

import pytest
from django.test import Client as Browser

from oidc.apis.registry import reload_registry
from oidc.authorization import consent
from oidc.models import ApiScope, AuthorizationCode, Client, Connection
from tests.factories import as_reviewed, make_account, make_api, make_client, make_project
from tests.oidc.test_page_budgets import step
from tests.relying_party import RelyingParty, answer_of, claims_of, sign_in

ASKED = "openid email profile offline_access"


def make_optional(app: RelyingParty, scopes: str, **fields: Any) -> None:
    Client.objects.filter(pk=app.client.pk).update(optional_scopes=scopes, **fields)


def connection_of(app: RelyingParty) -> Connection:
    return Connection.objects.get(client=app.client)


def granted(app: RelyingParty, response: Any) -> set[str]:
    tokens = app.exchange(answer_of(response)["code"]).json()
    return set(tokens["scope"].split())


@pytest.fixture
def choosy(app: RelyingParty) -> RelyingParty:
    """An app without which email address and staying signed in may be left out."""
    make_optional(app, "email offline_access")
    return app


# --- What is asked ---


def test_optional_scopes_are_unticked_checkboxes(choosy: RelyingParty) -> None:
    page = choosy.authorize()
    assert [access["scope"] for access in page.context["scope_descriptions"]] == ["openid", "profile"]
    assert [access["scope"] for access in page.context["optional_scope_descriptions"]] == ["email", "offline_access"]
    text = page.content.decode()
    assert text.count('type="checkbox"') == 2
    assert "checked" not in text


def test_a_claim_of_a_required_scope_can_not_be_left_out(choosy: RelyingParty) -> None:
    make_optional(choosy, "email profile offline_access", approved_scopes="account.read")
    page = choosy.authorize(scope=f"{ASKED} account.read")
    assert [access["scope"] for access in page.context["optional_scope_descriptions"]] == ["offline_access"]
    assert granted(choosy, choosy.answer_consent(page)) == {"openid", "email", "profile", "account.read"}


def test_a_claim_of_another_scope_is_not_listed_as_left_out(choosy: RelyingParty) -> None:
    make_optional(choosy, "email account.read", approved_scopes="account.read")
    page = choosy.authorize(scope="openid email profile account.read")
    choosy.answer_consent(page, optional=["account.read"])
    assert connection_of(choosy).left_out == "email"
    apps = choosy.browser.get("/account/apps/")
    assert apps.context["connections"][0]["left_out"] == []


def test_a_client_without_optional_scopes_has_no_checkboxes(app: RelyingParty) -> None:
    text = app.authorize().content.decode()
    assert "checkbox" not in text
    assert "only if you tick it" not in text


def test_earlier_granted_scopes_are_ticked(choosy: RelyingParty) -> None:
    choosy.answer_consent(choosy.authorize(), optional=["email"])
    page = choosy.authorize(prompt="consent")
    ticked = {access["scope"]: access["is_ticked"] for access in page.context["optional_scope_descriptions"]}
    assert ticked == {"email": True, "offline_access": False}


def test_optional_scopes_that_are_not_requested_are_not_shown(choosy: RelyingParty) -> None:
    page = choosy.authorize(scope="openid profile")
    assert page.context["optional_scope_descriptions"] == []
    assert granted(choosy, choosy.answer_consent(page, optional=["email"])) == {"openid", "profile"}


# --- What is granted ---


@pytest.mark.parametrize("scope", ["//calendar", "https://calendar.example.com/read"])
def test_an_optional_scope_may_have_any_name(app: RelyingParty, scope: str) -> None:
    make_api()
    ApiScope.objects.filter(name="calendar.read").update(name=scope)
    reload_registry()
    make_optional(app, scope)
    page = app.authorize(scope=f"openid {scope}")
    assert granted(app, app.answer_consent(page, optional=[scope])) == {scope}


def test_scopes_left_out_are_in_no_token_or_response(choosy: RelyingParty) -> None:
    response = choosy.answer_consent(choosy.authorize())
    tokens = choosy.exchange(answer_of(response)["code"]).json()
    assert tokens["scope"] == "openid profile"
    assert "refresh_token" not in tokens
    assert "email" not in claims_of(tokens["id_token"])
    assert claims_of(tokens["access_token"])["scope"] == "openid profile"
    assert "email" not in choosy.call("/connect/userinfo", tokens["access_token"]).json()
    assert "email" not in choosy.call("/v1/me", tokens["access_token"]).json()
    assert connection_of(choosy).scopes == "openid profile"
    assert connection_of(choosy).left_out == "email offline_access"


def test_ticked_scopes_are_granted(choosy: RelyingParty) -> None:
    response = choosy.answer_consent(choosy.authorize(), optional=["email", "offline_access"])
    tokens = choosy.exchange(answer_of(response)["code"]).json()
    assert set(tokens["scope"].split()) == set(ASKED.split())
    assert claims_of(tokens["id_token"])["email"] == "ada@example.com"
    newer = choosy.refresh(tokens["refresh_token"]).json()
    assert set(newer["scope"].split()) == set(ASKED.split())
    assert connection_of(choosy).left_out == ""


def test_a_refresh_for_left_out_scopes_returns_the_granted_ones(choosy: RelyingParty) -> None:
    page = choosy.authorize(scope="openid email offline_access")
    tokens = choosy.exchange(answer_of(choosy.answer_consent(page, optional=["offline_access"]))["code"]).json()
    for sent in ({}, {"scope": "openid email offline_access"}):
        tokens = choosy.refresh(tokens["refresh_token"], **sent).json()
        assert tokens["scope"] == "openid offline_access"
        assert "email" not in claims_of(tokens["id_token"])
        assert "email" not in choosy.call("/connect/userinfo", tokens["access_token"]).json()
    for never_granted in ("openid profile", "openid email account.read", "openid email nonsense"):
        refused = choosy.refresh(tokens["refresh_token"], scope=never_granted)
        assert refused.json()["error"] == "invalid_scope", never_granted
    make_optional(choosy, "offline_access")  # the scope that was left out becomes a required one
    tokens = choosy.refresh(tokens["refresh_token"], scope="openid email offline_access").json()
    assert tokens["scope"] == "openid offline_access"
    assert choosy.refresh(tokens["refresh_token"], scope="email").json()["scope"] == "openid"


def test_unticking_withdraws_a_granted_scope(choosy: RelyingParty) -> None:
    response = choosy.answer_consent(choosy.authorize(), optional=["email", "offline_access"])
    tokens = choosy.exchange(answer_of(response)["code"]).json()
    choosy.answer_consent(choosy.authorize(prompt="consent"), optional=["offline_access"])
    assert connection_of(choosy).left_out == "email"
    assert "email" not in choosy.call("/connect/userinfo", tokens["access_token"]).json()
    assert "email" not in choosy.refresh(tokens["refresh_token"]).json()["scope"].split()


def test_cancel_leaves_everything_as_it_was(choosy: RelyingParty) -> None:
    choosy.answer_consent(choosy.authorize(), optional=["email"])
    before = Connection.objects.values().get()
    page = choosy.authorize(prompt="consent")
    assert answer_of(choosy.answer_consent(page, "cancel"))["error"] == "access_denied"
    assert Connection.objects.values().get() == before


# --- What is remembered ---


def test_left_out_scopes_are_not_asked_again(choosy: RelyingParty) -> None:
    choosy.answer_consent(choosy.authorize())
    assert granted(choosy, choosy.authorize(state="again")) == {"openid", "profile"}
    assert connection_of(choosy).left_out == "email offline_access"


def test_a_silent_request_gets_the_granted_scopes(choosy: RelyingParty) -> None:
    assert answer_of(choosy.authorize(prompt="none"))["error"] == "consent_required", "nobody was asked yet"
    choosy.answer_consent(choosy.authorize(), optional=["email"])
    assert granted(choosy, choosy.authorize(prompt="none")) == {"openid", "email", "profile"}


def test_a_silent_request_for_a_new_optional_scope_is_rejected(choosy: RelyingParty) -> None:
    choosy.answer_consent(choosy.authorize(scope="openid profile"))
    assert answer_of(choosy.authorize(prompt="none"))["error"] == "consent_required"


def test_a_scope_that_became_required_is_asked_for(choosy: RelyingParty) -> None:
    choosy.answer_consent(choosy.authorize())
    make_optional(choosy, "offline_access")
    page = choosy.authorize()
    assert [access["scope"] for access in page.context["scope_descriptions"]] == ["openid", "email", "profile"]
    assert granted(choosy, choosy.answer_consent(page)) == {"openid", "email", "profile"}
    assert connection_of(choosy).left_out == "offline_access"


def test_a_granted_scope_stays_granted_when_it_becomes_optional(app: RelyingParty) -> None:
    app.tokens()
    make_optional(app, "email")
    assert granted(app, app.authorize(state="later")) == set(ASKED.split())


def test_prompt_consent_asks_for_left_out_scopes(choosy: RelyingParty) -> None:
    choosy.answer_consent(choosy.authorize())
    page = choosy.authorize(prompt="consent")
    assert not any(access["is_new"] for access in page.context["optional_scope_descriptions"])
    assert "email" in granted(choosy, choosy.answer_consent(page, optional=["email"]))
    assert connection_of(choosy).left_out == "offline_access"


def test_people_can_request_the_choice_again(choosy: RelyingParty) -> None:
    choosy.answer_consent(choosy.authorize())
    apps = choosy.browser.get("/account/apps/").content.decode()
    assert "What you did not allow" in apps
    path = f"/account/apps/{connection_of(choosy).pk}/ask-again"
    assert sign_in(Browser(), make_account()).post(path).status_code == 404
    choosy.browser.get(path)
    assert connection_of(choosy).left_out
    assert choosy.browser.post(path)["Location"] == "/account/apps/"
    assert connection_of(choosy).scopes == "openid profile", "it grants nothing"
    assert choosy.authorize().status_code == 200


def test_a_removed_app_asks_for_all_scopes_again(choosy: RelyingParty) -> None:
    choosy.answer_consent(choosy.authorize())
    consent.remove_consent(connection_of(choosy))
    assert connection_of(choosy).left_out == ""
    assert choosy.authorize().status_code == 200


def test_first_party_apps_get_all_scopes_except_left_out_ones(choosy: RelyingParty) -> None:
    Client.objects.filter(pk=choosy.client.pk).update(first_party=True)
    choosy.answer_consent(choosy.authorize(scope="openid email", prompt="consent"))
    assert granted(choosy, choosy.authorize()) == {"openid", "profile", "offline_access"}
    assert connection_of(choosy).left_out == "email"


# --- The form ---


@pytest.mark.parametrize(
    "optional",
    [
        ["account.read"],
        ["openid email profile account.read offline_access"],
        ["email profile"],
        ["EMAIL", " email", "email ", "email+offline_access"],
        ["openid", "profile", "nonsense", ""],
        ["\u202eemail", "é", "x" * 5000, "email\x00"],
    ],
)
def test_the_form_grants_only_scopes_that_it_showed(choosy: RelyingParty, optional: list[str]) -> None:
    make_optional(choosy, "email offline_access", approved_scopes="account.read")
    assert granted(choosy, choosy.answer_consent(choosy.authorize(), optional=optional)) == {"openid", "profile"}


def test_other_fields_change_nothing(choosy: RelyingParty) -> None:
    reference = choosy.authorize().context["reference"]
    form = {"scope": "openid", "scopes": "openid email", "chosen_scopes": "email", "left_out": "profile", "email": "on"}
    form |= {"reference": reference, "decision": "allow", "required": "", "optional_scopes": "profile"}
    response = choosy.browser.post("/connect/consent", form)
    assert granted(choosy, response) == {"openid", "profile"}


def test_repeated_fields_count_once(choosy: RelyingParty) -> None:
    response = choosy.answer_consent(choosy.authorize(), optional=["email"] * 50)
    assert granted(choosy, response) == {"openid", "email", "profile"}


def test_a_form_can_not_add_optional_scopes_to_its_reference(choosy: RelyingParty) -> None:
    reference = choosy.authorize(scope="openid profile").context["reference"]
    key, rest = reference.split(":", 1)
    form = {"reference": f"{key} email:{rest}", "decision": "allow", "optional": "email"}
    response = choosy.browser.post("/connect/consent", form)
    assert response["Location"].startswith("/connect/resume?request=")
    assert not Connection.objects.exists()


def test_a_reference_applies_to_the_client_in_it(choosy: RelyingParty) -> None:
    other = choosy.beside(choosy.browser)
    other.client = make_client(make_project(), name="Other")
    reference = other.authorize().context["reference"]
    choosy.authorize()
    choosy.browser.post("/connect/consent", {"reference": reference, "decision": "allow", "optional": ["email"]})
    assert [row.client for row in Connection.objects.all()] == [other.client]
    assert set(Connection.objects.get().scopes.split()) == set(ASKED.split()), "nothing of it is optional"


@pytest.mark.parametrize("now", ["", "email", "email offline_access profile"])
def test_a_page_is_shown_again_after_the_optional_scopes_changed(choosy: RelyingParty, now: str) -> None:
    page = choosy.authorize()
    make_optional(choosy, now)
    response = choosy.answer_consent(page, optional=["email"])
    assert response["Location"].startswith("/connect/authorize?")
    assert not AuthorizationCode.objects.exists()
    assert not Connection.objects.exists()
    again = choosy.browser.get(response["Location"])
    assert {access["scope"] for access in again.context["optional_scope_descriptions"]} == set(now.split())


def test_a_form_that_is_sent_twice_stores_the_last_choice(choosy: RelyingParty) -> None:
    page = choosy.authorize()
    first = answer_of(choosy.answer_consent(page, optional=["email"]))["code"]
    second = choosy.answer_consent(page, optional=[])
    assert choosy.exchange(first).status_code == 400
    assert granted(choosy, second) == {"openid", "profile"}


# --- Budgets ---


def test_optional_scopes_need_no_more_statements(choosy: RelyingParty) -> None:
    make_optional(choosy, "email offline_access account.read", approved_scopes="account.read", **as_reviewed())
    everything = f"{ASKED} account.read"
    other = choosy.beside(sign_in(Browser(), make_account()))
    other.answer_consent(other.authorize(scope=everything))  # what a process makes once
    page = step(6, lambda: choosy.authorize(scope=everything), 200)
    step(12, lambda: choosy.answer_consent(page, optional=["email"]), 200)
    step(10, lambda: choosy.authorize(scope=everything, state="later"), 302)
    page = choosy.authorize(scope=everything, prompt="consent")
    step(12, lambda: choosy.answer_consent(page, optional=["offline_access"]), 200)
