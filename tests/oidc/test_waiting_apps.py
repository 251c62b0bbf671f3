"""The app of a pending request: named on the way to it, in a banner on account pages, and nowhere else."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client as Browser

from accounts.models import Account
from oidc.models import Client
from tests.accounts.entrance.test_sign_up import sign_up
from tests.accounts.factors.conftest import give_app
from tests.factories import PASSWORD, make_client, make_project
from tests.relying_party import RelyingParty, age_sign_in, leads_to, sign_in

ON_THE_WAY = '<span class="muted">To continue to</span> <strong>Orbit Notes</strong>'
BANNER = "<strong>Orbit Notes</strong> is waiting for you."
DISMISS = "/connect/dismiss"


def shows(response: Any, text: str) -> bool:
    assert response.status_code == 200, (response.status_code, response.get("Location"))
    return text in response.content.decode()


def banner_of(response: Any) -> dict[str, str]:
    """Return the fields of the banner's form."""
    app = response.context["waiting_app"]()
    return {"request": app["request_key"], "next": response.wsgi_request.get_full_path()}


@pytest.fixture
def stranger(spa: Client) -> RelyingParty:
    return RelyingParty(spa, Browser())


# --- On the way ---


@pytest.mark.parametrize("path", ["", "/account/login/", "/account/signup/", "/account/password/reset/"])
def test_pages_that_lead_to_the_app_name_it(stranger: RelyingParty, path: str) -> None:
    leads = stranger.authorize()["Location"]
    assert shows(stranger.browser.get(path or leads), ON_THE_WAY)


@pytest.mark.parametrize("following", ["/account/apps/", "/console/", "/connect/resumed", "https://evil.example.com/"])
def test_pages_that_lead_elsewhere_do_not(stranger: RelyingParty, following: str) -> None:
    stranger.authorize()
    assert not shows(stranger.browser.get("/account/login/", {"next": following}), ON_THE_WAY)
    form = {"login": "ada@example.com", "password": "wrong", "next": following}
    assert not shows(stranger.browser.post("/account/login/", form), ON_THE_WAY)


def test_the_named_app_is_the_one_that_follows(stranger: RelyingParty) -> None:
    first = stranger.authorize()["Location"]
    RelyingParty(make_client(make_project(), name="Tern"), stranger.browser).authorize()
    assert shows(stranger.browser.get(first), ON_THE_WAY)
    assert shows(stranger.browser.get("/account/login/"), "<strong>Tern</strong>")


@pytest.mark.parametrize(("following", "named"), [("the app", True), ("/account/apps/", False), ("", True)])
def test_further_steps_of_a_sign_in_name_the_app_that_follows(
    stranger: RelyingParty, person: Account, following: str, named: bool
) -> None:
    give_app(person)
    leads = parse_qs(urlsplit(stranger.authorize()["Location"]).query)["next"][0]
    form = {"login": person.email, "password": PASSWORD, "next": leads if following == "the app" else following}
    assert stranger.browser.post("/account/login/", form)["Location"] == "/account/2fa/authenticate/"
    assert shows(stranger.browser.get("/account/2fa/authenticate/"), ON_THE_WAY) is named


def test_the_code_page_of_a_sign_up_names_the_app(stranger: RelyingParty) -> None:
    stranger.authorize()
    sign_up(stranger.browser)
    assert shows(stranger.browser.get("/account/confirm-email/"), ON_THE_WAY)


def test_confirming_a_change_of_the_account_does_not_name_it(app: RelyingParty) -> None:
    app.authorize()
    age_sign_in(app.browser, 600)
    leads = app.browser.get("/account/2fa/totp/activate/")["Location"]
    assert leads.startswith("/account/reauthenticate/")
    assert not shows(app.browser.get(leads), ON_THE_WAY)
    assert not shows(app.browser.get("/account/reauthenticate/"), ON_THE_WAY)


def test_confirming_for_the_app_names_it(app: RelyingParty) -> None:
    app.tokens()
    assert not shows(app.browser.get("/account/"), BANNER), "the request is answered"
    assert shows(app.browser.get(app.authorize(prompt="login")["Location"]), ON_THE_WAY)


# --- The banner ---


def test_the_banner_is_dismissed_on_the_page_where_it_is(app: RelyingParty) -> None:
    app.authorize()
    page = app.browser.get("/account/activity/?page=1")
    assert shows(page, BANNER)
    text = page.content.decode()
    assert f'<form class="button-row" method="post" action="{DISMISS}">' in text
    assert app.browser.post(DISMISS, banner_of(page))["Location"] == "/account/activity/?page=1"
    for path in ("/account/activity/?page=1", "/account/", "/account/apps/"):
        assert not shows(app.browser.get(path), BANNER), path
    assert app.browser.get("/connect/resume")["Location"] == "/account/"


def test_a_dismissed_request_continues_in_its_own_tab(app: RelyingParty) -> None:
    page = app.authorize()
    app.browser.post(DISMISS, banner_of(app.browser.get("/account/")))
    assert leads_to(app.answer_consent(page)).startswith("https://app.example.com/callback?code=")


def test_coming_back_to_the_app_shows_the_banner_again(app: RelyingParty) -> None:
    app.authorize()
    app.browser.post(DISMISS, banner_of(app.browser.get("/account/")))
    app.authorize()
    assert shows(app.browser.get("/account/"), BANNER)


def test_all_requests_of_the_app_are_dismissed_and_no_other(app: RelyingParty) -> None:
    tern = RelyingParty(make_client(make_project(), name="Tern"), app.browser)
    tern.authorize()
    for number in range(3):
        app.authorize(state=f"state{number}")
    app.browser.post(DISMISS, banner_of(app.browser.get("/account/")))
    page = app.browser.get("/account/")
    assert not shows(page, BANNER)
    assert shows(page, "<strong>Tern</strong> is waiting for you.")


@pytest.mark.parametrize("following", ["https://evil.example.com/", "//evil.example.com", "javascript:alert(1)", ""])
def test_dismissing_leads_nowhere_else(app: RelyingParty, following: str) -> None:
    app.authorize()
    form = banner_of(app.browser.get("/account/")) | {"next": following}
    assert app.browser.post(DISMISS, form)["Location"] == "/account/"


@pytest.mark.parametrize("handle", ["", "\x00", "a.b.c", "x" * 5000])
def test_a_made_up_request_dismisses_nothing(app: RelyingParty, handle: str) -> None:
    app.authorize()
    assert app.browser.post(DISMISS, {"request": handle}).status_code in (302, 400)
    assert shows(app.browser.get("/account/"), BANNER)


def test_another_session_dismisses_nothing(app: RelyingParty, person: Account) -> None:
    app.authorize()
    form = banner_of(app.browser.get("/account/"))
    sign_in(Browser(), person).post(DISMISS, form)
    assert shows(app.browser.get("/account/"), BANNER)
