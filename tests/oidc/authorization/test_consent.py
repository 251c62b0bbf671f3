"""Consent: what is asked, remembered and granted; and a form that can't be made to grant anything else."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client as Browser
from django.utils.html import escape

from accounts.models import Account
from core import clock
from oidc.models import AuthorizationCode, Client, Connection
from tests.factories import make_account, make_client, make_project
from tests.relying_party import RelyingParty, answer_of, claims_of, leads_to, sign_in


def connection_of(app: RelyingParty) -> Connection:
    return Connection.objects.get(client=app.client)


# --- What is asked ---


def test_the_page_names_app_person_scopes_and_where_it_leads(app: RelyingParty) -> None:
    page = app.authorize(scope="openid email profile")
    text = page.content.decode()
    assert page.status_code == 200
    for expected in ("Orbit Notes", "ada@example.com", "Ada Lovelace", "app.example.com", "has not reviewed this app"):
        assert expected in text
    assert 'name="decision" value="allow"' in text
    assert 'name="decision" value="cancel"' in text


def test_opening_the_page_grants_nothing(app: RelyingParty) -> None:
    app.authorize()
    assert not Connection.objects.exists()
    assert not AuthorizationCode.objects.exists()


# --- Memory ---


def test_a_subset_of_granted_scopes_is_not_asked_again(app: RelyingParty) -> None:
    app.tokens(scope="openid email profile")
    assert app.tokens(scope="openid")["scope"] == "openid"
    assert connection_of(app).scopes == "openid email profile"


def test_only_new_scopes_are_marked_and_then_added(app: RelyingParty) -> None:
    assert not any(access["is_new"] for access in app.authorize().context["scope_descriptions"]), "the first time"
    app.tokens(scope="openid email")
    page = app.authorize(scope="openid email profile")
    assert [access["scope"] for access in page.context["scope_descriptions"] if access["is_new"]] == ["profile"]
    app.answer_consent(page)
    assert set(connection_of(app).scopes.split()) == {"openid", "email", "profile"}


def test_consent_applies_to_one_client_and_one_person(app: RelyingParty) -> None:
    app.tokens()
    sibling = RelyingParty(make_client(app.client.project, name="Orbit Mobile"), app.browser)
    assert sibling.authorize().status_code == 200
    assert app.beside(sign_in(Browser(), make_account())).authorize().status_code == 200


# --- Cancel ---


def test_cancel_goes_back_with_access_denied(app: RelyingParty) -> None:
    answer = answer_of(app.answer_consent(app.authorize(), "cancel"))
    assert (answer["error"], answer["state"]) == ("access_denied", app.state)
    assert answer["iss"] == "http://localhost:8000/"
    assert not Connection.objects.exists()


def test_cancelling_new_scopes_keeps_earlier_consent(app: RelyingParty) -> None:
    app.tokens(scope="openid email")
    answer = answer_of(app.answer_consent(app.authorize(scope="openid email profile"), "cancel"))
    assert answer["error"] == "access_denied"
    assert connection_of(app).scopes == "openid email"
    assert "code" in answer_of(app.authorize(scope="openid email"))


@pytest.mark.parametrize("decision", ["", "ALLOW", "yes"])
def test_any_button_but_allow_declines(app: RelyingParty, decision: str) -> None:
    assert answer_of(app.answer_consent(app.authorize(), decision))["error"] == "access_denied"


# --- First party ---


def test_the_services_own_apps_ask_only_on_request(app: RelyingParty) -> None:
    Client.objects.filter(pk=app.client.pk).update(first_party=True)
    assert app.authorize(prompt="consent").status_code == 200
    assert "code" in answer_of(app.authorize())
    assert connection_of(app).scopes == "openid email profile offline_access"


# --- The form ---


def send(app: RelyingParty, **form: str) -> Any:
    return app.browser.post("/connect/consent", form)


def test_the_form_cannot_add_scopes_or_swap_client_or_address(app: RelyingParty) -> None:
    other = make_client(make_project(), name="Other", redirect_uris="https://other.example.com/cb")
    page = app.authorize(scope="openid")
    response = send(
        app,
        reference=page.context["reference"],
        decision="allow",
        scope="openid email profile account.read",
        scopes="openid email",
        client_id=other.client_id,
        redirect_uri="https://other.example.com/cb",
        state="another",
        code_challenge="x" * 43,
        nonce="another",
        allow="true",
    )
    assert leads_to(response).startswith("https://app.example.com/callback?")
    answer = answer_of(response)
    assert answer["state"] == app.state
    tokens = app.exchange(answer["code"]).json()
    assert tokens["scope"] == "openid"
    assert claims_of(tokens["id_token"])["nonce"] == app.nonce
    assert not Connection.objects.filter(client=other).exists()


def test_query_parameters_do_not_change_the_form(app: RelyingParty) -> None:
    reference = app.authorize(scope="openid").context["reference"]
    url = "/connect/consent?scope=openid+email&redirect_uri=https://evil.example.com/"
    answer = answer_of(app.browser.post(url, {"reference": reference, "decision": "allow"}))
    assert app.exchange(answer["code"]).json()["scope"] == "openid"


@pytest.mark.parametrize("change", ["empty", "cut", "flip", "other text"])
def test_a_forged_reference_grants_nothing(app: RelyingParty, change: str) -> None:
    reference = app.authorize().context["reference"]
    forged = {
        "empty": "",
        "cut": reference[:-1],
        "flip": ("b" if reference[0] == "a" else "a") + reference[1:],
        "other text": "\x00\ud7ff:x:y",
    }[change]
    response = send(app, reference=forged, decision="allow")
    assert response.status_code == 302
    assert response["Location"].startswith("/")
    assert not Connection.objects.exists()


def test_a_reference_is_valid_only_in_its_session(app: RelyingParty, person: Account) -> None:
    reference = app.authorize().context["reference"]
    elsewhere = sign_in(Browser(), person)
    response = elsewhere.post("/connect/consent", {"reference": reference, "decision": "allow"})
    assert response["Location"].startswith("/")
    assert not Connection.objects.exists()


def test_a_form_opened_before_an_account_switch_is_rejected(app: RelyingParty) -> None:
    page = app.authorize()
    app.browser.post("/account/choose", {"decision": "another"})
    other = make_account("bob@example.com")
    sign_in(app.browser, other)
    response = app.answer_consent(page)
    assert response["Location"].startswith("/connect/resume?request=")
    assert not Connection.objects.exists()
    shown = app.browser.get(app.browser.get(response["Location"])["Location"])
    assert b"bob@example.com" in shown.content


def test_a_form_sent_after_sign_out_leads_to_sign_in(app: RelyingParty) -> None:
    page = app.authorize()
    app.browser.logout()
    response = app.answer_consent(page)
    assert response["Location"].startswith("/account/login/")
    assert not Connection.objects.exists()


@pytest.mark.parametrize("what", ["client", "project"])
def test_a_form_opened_before_a_suspension_is_rejected(app: RelyingParty, what: str) -> None:
    page = app.authorize()
    if what == "client":
        Client.objects.filter(pk=app.client.pk).update(enabled=False)
    else:
        app.client.project.suspended_at = clock.now()
        app.client.project.save()
    for decision in ("allow", "cancel"):
        response = app.answer_consent(page, decision)
        assert response.status_code == 403
        assert "Location" not in response
    assert not Connection.objects.exists()


def test_a_form_is_rejected_after_its_redirect_url_was_removed(app: RelyingParty) -> None:
    page = app.authorize()
    Client.objects.filter(pk=app.client.pk).update(redirect_uris="https://app.example.com/elsewhere")
    for decision in ("allow", "cancel"):
        response = app.answer_consent(page, decision)
        assert response.status_code == 400
        assert "Location" not in response


def test_a_form_is_rejected_after_the_approval_was_withdrawn(app: RelyingParty) -> None:
    Client.objects.filter(pk=app.client.pk).update(approved_scopes="account.read")
    page = app.authorize(scope="openid account.read")
    Client.objects.filter(pk=app.client.pk).update(approved_scopes="")
    assert answer_of(app.answer_consent(page))["error"] == "invalid_scope"
    assert not Connection.objects.exists()


def test_a_deactivated_person_cannot_consent(app: RelyingParty, person: Account) -> None:
    page = app.authorize()
    person.is_active = False
    person.save()
    assert app.answer_consent(page)["Location"].startswith("/account/login/")


def test_a_form_that_is_sent_twice_leaves_one_valid_code(app: RelyingParty) -> None:
    page = app.authorize()
    first, second = (answer_of(app.answer_consent(page)) for _ in range(2))
    assert Connection.objects.count() == 1
    assert app.exchange(second["code"]).status_code == 200
    assert app.exchange(first["code"]).json()["error"] == "invalid_grant"


def test_sending_the_form_again_does_not_end_tokens_that_were_fetched(app: RelyingParty) -> None:
    page = app.authorize()
    tokens = app.exchange(answer_of(app.answer_consent(page))["code"]).json()
    app.answer_consent(page)
    assert app.call("/connect/userinfo", tokens["access_token"]).status_code == 200


def test_the_back_button_shows_the_consent_page_again(app: RelyingParty) -> None:
    app.authorize()
    response = app.browser.get("/connect/consent")
    assert response["Location"] == "/connect/resume"
    shown = app.browser.get(app.browser.get(response["Location"])["Location"])
    assert b"Orbit Notes" in shown.content


def test_two_tabs_keep_separate_requests(app: RelyingParty, web_app: RelyingParty) -> None:
    first, second = app.authorize(), web_app.authorize(scope="openid")
    answer = answer_of(app.answer_consent(first))
    assert answer["state"] == app.state
    assert app.exchange(answer["code"]).json()["scope"] == "openid email profile offline_access"
    answer = answer_of(web_app.answer_consent(second))
    assert answer["state"] == web_app.state
    assert web_app.exchange(answer["code"]).json()["scope"] == "openid"


def test_an_open_consent_page_expires(app: RelyingParty, settings: Any) -> None:
    page = app.authorize()
    settings.PENDING_REQUEST_SECONDS = -1
    assert app.answer_consent(page)["Location"].startswith("/connect/resume")
    assert not Connection.objects.exists()


def test_the_page_cannot_be_framed_and_its_form_goes_nowhere_else(app: RelyingParty) -> None:
    other = make_client(make_project(), name="Other", redirect_uris="https://other.example.com/cb")
    RelyingParty(other, app.browser, redirect_uri="https://other.example.com/cb").authorize()
    page = app.authorize()
    policy = dict(part.strip().partition(" ")[::2] for part in page["Content-Security-Policy"].split(";"))
    assert policy["frame-ancestors"] == "'none'"
    assert policy["form-action"] == "'self'"
    assert page["X-Frame-Options"] == "DENY"
    assert "no-store" in page["Cache-Control"]


# --- The way back ---


def test_after_a_form_a_page_leads_to_the_app(app: RelyingParty) -> None:
    odd = "\"'; url=//a.example, <b>&amp;"
    page = app.answer_consent(app.authorize(state=odd))
    assert (page.status_code, page["Referrer-Policy"]) == (200, "no-referrer")
    assert "no-store" in page["Cache-Control"]
    assert answer_of(page)["state"] == odd
    assert page.content.decode().count(f'{escape(leads_to(page))}"') == 2, "the page navigates, and has a link"


def test_without_a_form_a_redirect_leads_to_the_app(app: RelyingParty) -> None:
    assert app.authorize(prompt="none").status_code == 302
    app.code()
    for changes in ({"state": "remembered"}, {"state": "silent", "prompt": "none"}):
        assert app.authorize(**changes).status_code == 302


def test_a_request_from_a_page_of_ours_may_follow_a_form(app: RelyingParty) -> None:
    app.code()
    url = f"/connect/authorize?{urlencode(app.parameters(state='remembered'))}"
    for site, status in (("same-origin", 200), ("same-site", 302), ("cross-site", 302), ("none", 302)):
        response = app.browser.get(url, headers={"Sec-Fetch-Site": site})
        assert (response.status_code, answer_of(response)["state"]) == (status, "remembered")


def test_a_form_that_was_answered_before_leads_to_the_app_by_a_page(app: RelyingParty) -> None:
    page = app.authorize(scope="openid email")
    answer_of(app.answer_consent(page))
    Client.objects.update(optional_scopes="email")
    again = app.browser.get(app.answer_consent(page)["Location"])
    assert (again.status_code, "code" in answer_of(again)) == (200, True)
