"""/connect/logout (OpenID Connect RP-Initiated Logout 1.0)."""

import html
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.sessions.models import Session
from django.test import Client as Browser

from accounts.models import Account, PairwiseSubject
from core.http.sessions import hash_of
from oidc.models import Client
from oidc.tokens import signing_keys
from tests.factories import SIGN_OUT_URI, make_account, make_client, make_project
from tests.relying_party import FORM, RelyingParty, sign_in
from tests.several_accounts import add_account, choices_of, choose, other_keys, present

CONFIRM = "/connect/logout/confirm"


def is_signed_in(browser: Browser) -> bool:
    return "_auth_user_id" in browser.session


def log_out(browser: Browser, **parameters: str) -> Any:
    return browser.get(f"/connect/logout?{urlencode(parameters)}")


def asks(response: Any) -> bool:
    """Tell whether the person is asked, by a form that leads nowhere but to us."""
    text = response.content.decode()
    return bool(
        response.status_code == 200
        and "Location" not in response
        and 'name="decision" value="sign-out"' in text
        and 'name="decision" value="stay"' in text
    )


# --- Straight back ---


@pytest.mark.parametrize(
    ("uri", "state", "location"),
    [
        (SIGN_OUT_URI, "", SIGN_OUT_URI),
        (SIGN_OUT_URI, "a b&c", f"{SIGN_OUT_URI}?state=a+b%26c"),
        (f"{SIGN_OUT_URI}?a=1", "s", f"{SIGN_OUT_URI}?a=1&state=s"),
    ],
)
@pytest.mark.parametrize("more", ["", "client_id", "expired"])
def test_a_proven_request_signs_out_and_goes_back(
    app: RelyingParty, later: Callable[[float], None], uri: str, state: str, location: str, more: str
) -> None:
    Client.objects.filter(pk=app.client.pk).update(post_logout_redirect_uris=uri)
    sent = {"id_token_hint": app.tokens()["id_token"], "post_logout_redirect_uri": uri, "state": state}
    if more == "client_id":
        sent["client_id"] = app.client.client_id
    elif more == "expired":
        later(3600)
    assert log_out(app.browser, **sent)["Location"] == location
    assert not is_signed_in(app.browser)


def test_an_id_token_hint_signed_by_a_retired_key_is_accepted(
    app: RelyingParty, later: Callable[[float], None]
) -> None:
    hint = app.tokens()["id_token"]
    signing_keys.rotate(now=True)
    signing_keys.rotate(now=True)
    later(100 * 24 * 3600)
    signing_keys.reload_keyring()
    response = log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=SIGN_OUT_URI)
    assert response["Location"] == SIGN_OUT_URI


def test_an_id_token_hint_signed_by_a_withdrawn_key_proves_nothing(app: RelyingParty) -> None:
    """The key has leaked, so anyone may have signed the hint."""
    hint = app.tokens()["id_token"]
    signing_keys.rotate(now=True)
    signing_keys.rotate(now=True)
    signing_keys.reload_keyring()
    to = {"id_token_hint": hint, "post_logout_redirect_uri": SIGN_OUT_URI}
    assert log_out(Browser(), **to)["Location"] == SIGN_OUT_URI
    signing_keys.withdraw_retired_keys()
    signing_keys.reload_keyring()
    assert asks(log_out(app.browser, **to))
    assert is_signed_in(app.browser)


def test_without_a_session_sign_out_returns_immediately(app: RelyingParty) -> None:
    hint = app.tokens()["id_token"]
    response = log_out(Browser(), id_token_hint=hint, post_logout_redirect_uri=SIGN_OUT_URI, state="s")
    assert response["Location"] == f"{SIGN_OUT_URI}?state=s"
    assert is_signed_in(app.browser)


def test_sign_out_ends_the_session_but_no_token(app: RelyingParty, web_app: RelyingParty) -> None:
    tokens, others = app.tokens(), web_app.tokens()
    hint = tokens["id_token"]
    log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=SIGN_OUT_URI)
    assert web_app.authorize().status_code == 302
    assert app.call("/connect/userinfo", tokens["access_token"]).status_code == 200
    assert app.refresh(tokens["refresh_token"]).status_code == 200
    assert web_app.refresh(others["refresh_token"]).status_code == 200


def test_another_browser_of_the_person_stays_signed_in(app: RelyingParty, person: Account) -> None:
    elsewhere = sign_in(Browser(), person)
    log_out(app.browser, id_token_hint=app.tokens()["id_token"], post_logout_redirect_uri=SIGN_OUT_URI)
    assert elsewhere.get("/account/").status_code == 200


# --- Asking first ---


def unproven(app: RelyingParty) -> list[dict[str, str]]:
    hint = app.tokens()["id_token"]
    tampered = hint[:-8] + ("AAAAAAAA" if not hint.endswith("AAAAAAAA") else "BBBBBBBB")
    to = {"post_logout_redirect_uri": SIGN_OUT_URI, "state": "s"}
    return [
        {},
        to,
        to | {"client_id": app.client.client_id},
        {"id_token_hint": hint},
        {"id_token_hint": hint, "post_logout_redirect_uri": SIGN_OUT_URI + "/"},
        {"id_token_hint": hint, "post_logout_redirect_uri": "https://evil.example.com/"},
        {"id_token_hint": hint, "post_logout_redirect_uri": app.redirect_uri},
        to | {"id_token_hint": tampered},
        to | {"id_token_hint": "nonsense"},
        to | {"id_token_hint": app.tokens()["access_token"]},
        to | {"id_token_hint": hint, "client_id": "op_client_other"},
    ]


def test_a_request_without_a_valid_hint_asks_and_does_not_redirect(app: RelyingParty) -> None:
    for parameters in unproven(app):
        response = log_out(app.browser, **parameters)
        assert asks(response), parameters
        assert is_signed_in(app.browser)


def test_an_unproven_request_with_nobody_signed_in_stays_here(app: RelyingParty) -> None:
    for parameters in unproven(app):
        response = log_out(Browser(), **parameters)
        if parameters.get("id_token_hint") and "Location" not in response:
            continue
        assert response["Location"].partition("?")[0] == "/connect/signed-out", parameters


def test_the_hint_of_another_person_asks(app: RelyingParty) -> None:
    other = app.beside(sign_in(Browser(), make_account("bob@example.com")))
    hint = other.tokens()["id_token"]
    response = log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=SIGN_OUT_URI)
    assert asks(response)
    assert is_signed_in(app.browser)


def test_an_address_of_another_client_is_not_used(app: RelyingParty, web_app: RelyingParty) -> None:
    other = make_client(app.client.project, name="Other", post_logout_redirect_uris="https://other.example.com/bye")
    hint = app.tokens()["id_token"]
    uri = "https://other.example.com/bye"
    assert asks(log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=uri))
    assert asks(log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=uri, client_id=other.client_id))


def test_a_repeated_parameter_proves_nothing(app: RelyingParty) -> None:
    hint = app.tokens()["id_token"]
    query = urlencode({"id_token_hint": hint, "post_logout_redirect_uri": SIGN_OUT_URI})
    for name, value in (("id_token_hint", hint), ("post_logout_redirect_uri", SIGN_OUT_URI), ("client_id", "x")):
        more = urlencode([(name, value), (name, value)])
        assert asks(app.browser.get(f"/connect/logout?{query}&{more}"))


def test_the_question_answered_with_yes_signs_out(app: RelyingParty) -> None:
    log_out(app.browser)
    response = app.browser.post(CONFIRM, {"decision": "sign-out"})
    assert response["Location"] == "/connect/signed-out"
    assert not is_signed_in(app.browser)
    assert "signed out" in app.browser.get("/connect/signed-out").content.decode()


@pytest.mark.parametrize("decision", ["stay", "", "SIGN-OUT"])
def test_any_answer_but_sign_out_keeps_the_session(app: RelyingParty, decision: str) -> None:
    app.browser.post(CONFIRM, {"decision": decision})
    assert is_signed_in(app.browser)


def test_the_answer_goes_nowhere_that_the_form_names(app: RelyingParty) -> None:
    form = {
        "decision": "sign-out",
        "post_logout_redirect_uri": "https://evil.example.com/",
        "next": "//evil.example.com",
    }
    response = app.browser.post(f"{CONFIRM}?next=https://evil.example.com/", form)
    assert response["Location"] == "/connect/signed-out"


def test_the_app_named_in_the_question_is_the_one_that_asked(app: RelyingParty) -> None:
    assert b"Orbit Notes" in log_out(app.browser, client_id=app.client.client_id).content
    assert b"Orbit Notes" in log_out(app.browser, id_token_hint=app.tokens()["id_token"]).content


# --- The way back without a hint ---


def way_back(app: RelyingParty, **parameters: str) -> str:
    """Sign out through the question; return the link from the page after it to an app, "" without one."""
    asked = log_out(app.browser, **parameters)
    assert asks(asked)
    action = re.search(r'action="(/connect/logout/confirm[^"]*)"', asked.content.decode())
    assert action
    after = app.browser.post(html.unescape(action[1]), {"decision": "sign-out"})
    assert not is_signed_in(app.browser)
    page = app.browser.get(after["Location"]).content.decode()
    found = re.search(r'<a class="button" href="([^"]*)" rel="noreferrer">Back to app.example.com</a>', page)
    assert ("Afterwards, a link leads back" in asked.content.decode()) == bool(found)
    if "id_token_hint" not in parameters:
        assert log_out(Browser(), **parameters)["Location"] == after["Location"], "the same if nobody is signed in"
    return html.unescape(found[1]) if found else ""


TO_APP = {"post_logout_redirect_uri": SIGN_OUT_URI}


def test_the_page_after_signing_out_leads_back_to_the_only_app_with_this_url(app: RelyingParty) -> None:
    make_client(make_project(), post_logout_redirect_uris=f"{SIGN_OUT_URI}/ x{SIGN_OUT_URI} {SIGN_OUT_URI.upper()}")
    assert way_back(app, **TO_APP, state="a b&c") == f"{SIGN_OUT_URI}?state=a+b%26c"


def test_it_leads_back_to_the_app_that_the_request_names(app: RelyingParty) -> None:
    make_client(make_project())
    hint = app.tokens()["id_token"]
    assert way_back(app, **TO_APP, client_id=app.client.client_id) == SIGN_OUT_URI
    app = app.beside(sign_in(Browser(), make_account("bob@example.com")))
    assert way_back(app, **TO_APP, id_token_hint=hint) == SIGN_OUT_URI, "someone else is signed in"


def test_it_leads_back_after_signing_out_of_all_accounts(app: RelyingParty) -> None:
    add_account(app.browser, make_account("bob@example.com"))
    asked = log_out(app.browser, **TO_APP).content.decode()
    action = re.search(r'action="(/account/choose[^"]*)"', asked)
    assert action
    after = app.browser.post(html.unescape(action[1]), {"decision": "sign-out-all"}, follow=True)
    assert f'href="{SIGN_OUT_URI}"' in after.content.decode()


@pytest.mark.parametrize(
    "change",
    [
        {"post_logout_redirect_uri": SIGN_OUT_URI + "/"},
        {"post_logout_redirect_uri": SIGN_OUT_URI.upper()},
        {"post_logout_redirect_uri": "https://%.example.com/bye"},
        {"post_logout_redirect_uri": f"{SIGN_OUT_URI} {SIGN_OUT_URI}"},
        {"post_logout_redirect_uri": "\x00"},
        {"client_id": "op_client_other"},
    ],
)
def test_it_leads_to_nothing_else(app: RelyingParty, change: dict[str, str]) -> None:
    assert way_back(app, **(TO_APP | change)) == ""


def test_it_does_not_lead_to_one_of_several_apps_or_to_one_that_is_off(app: RelyingParty) -> None:
    second = make_client(make_project())
    assert way_back(app, **TO_APP) == ""
    second.delete()
    Client.objects.update(enabled=False)
    app = app.beside(sign_in(Browser(), make_account("bob@example.com")))
    assert way_back(app, **TO_APP) == way_back(
        app.beside(sign_in(Browser(), make_account("eve@example.com"))), **TO_APP
    )


def test_all_apps_are_searched_a_limited_number_of_times(app: RelyingParty, settings: Any) -> None:
    settings.FAILURES_PER_MINUTE = 2
    asked = [log_out(app.browser, **TO_APP) for _ in range(3)]
    assert [(asks(page), "a link leads back" in page.content.decode()) for page in asked] == [
        (True, True),
        (True, True),
        (True, False),
    ]


# --- POST ---


def test_a_post_becomes_a_get(app: RelyingParty) -> None:
    hint = app.tokens()["id_token"]
    body = urlencode({"id_token_hint": hint, "post_logout_redirect_uri": SIGN_OUT_URI, "state": "s"})
    response = Browser(enforce_csrf_checks=True).post("/connect/logout", body, content_type=FORM)
    assert response.status_code == 303
    assert response["Location"].startswith("/connect/logout?")
    assert is_signed_in(app.browser)
    assert app.browser.get(response["Location"])["Location"] == f"{SIGN_OUT_URI}?state=s"


# --- Several accounts in one browser ---


def two_accounts(app: RelyingParty) -> tuple[RelyingParty, Account, dict[str, str]]:
    """Return the app before a browser with Ada and Bob, Bob at present, and what an app sends to sign Ada out."""
    bob = make_account("bob@example.com")
    hint = app.tokens()["id_token"]
    add_account(app.browser, bob)
    return app, bob, {"id_token_hint": hint, "post_logout_redirect_uri": SIGN_OUT_URI}


def test_the_hint_s_person_is_signed_out_though_another_is_present(app: RelyingParty) -> None:
    app, bob, proven = two_accounts(app)
    [key] = other_keys(app.browser)
    assert log_out(app.browser, **proven, state="s")["Location"] == f"{SIGN_OUT_URI}?state=s"
    assert not Session.objects.filter(pk=hash_of(key)).exists()
    assert present(app.browser) == bob.email
    assert other_keys(app.browser) == []


def test_the_hint_s_person_is_signed_out_and_no_other(app: RelyingParty, person: Account) -> None:
    app, bob, proven = two_accounts(app)
    choose(app.browser, person)
    assert log_out(app.browser, **proven)["Location"] == SIGN_OUT_URI
    assert present(app.browser) is None
    choose(app.browser, bob)
    assert present(app.browser) == bob.email


def test_after_that_the_same_request_asks_the_present_account(app: RelyingParty) -> None:
    app, bob, proven = two_accounts(app)
    log_out(app.browser, **proven)
    response = log_out(app.browser, **proven)
    assert asks(response)
    assert bob.email in response.content.decode()
    assert present(app.browser) == bob.email


def test_with_nobody_present_nobody_but_the_hint_s_person_is_signed_out(app: RelyingParty) -> None:
    app, bob, proven = two_accounts(app)
    choose(app.browser, Account.objects.get(email="ada@example.com"))
    log_out(app.browser, **proven)
    assert log_out(app.browser, **proven)["Location"] == SIGN_OUT_URI
    assert [*choices_of(app.browser.get("/account/choose"))] == [bob.email]


def test_a_hint_alone_signs_nobody_out(app: RelyingParty) -> None:
    app, bob, proven = two_accounts(app)
    for unproven_request in ({}, {"id_token_hint": proven["id_token_hint"]}, proven | {"client_id": "op_client_other"}):
        response = log_out(app.browser, **unproven_request)
        assert asks(response)
        text = response.content.decode()
        assert bob.email in text
        assert "ada@example.com" not in text
        assert "Sign out of all accounts" in text
    assert [*choices_of(app.browser.get("/account/choose"))] == [bob.email, "ada@example.com"]
    app.browser.post(CONFIRM, {"decision": "sign-out"})
    assert [*choices_of(app.browser.get("/account/choose"))] == ["ada@example.com"]


def test_an_id_token_of_another_project_signs_nobody_out(app: RelyingParty, web_app: RelyingParty) -> None:
    """A subject is its project's alone: the same text in another sector proves nobody."""
    app, _, proven = two_accounts(app)
    PairwiseSubject.objects.filter(account__email="ada@example.com").update(sector="another")
    assert asks(log_out(app.browser, **proven))
    assert len(other_keys(app.browser)) == 1
