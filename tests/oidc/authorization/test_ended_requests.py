"""Requests that took too long or were answered: people learn so, and find their way back to the app."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from oidc.authorization import interactions
from oidc.models import Client, Project
from tests.factories import PASSWORD, as_reviewed, make_account
from tests.relying_party import RelyingParty, answer_of, sign_in
from tests.several_accounts import ANOTHER, CHOOSE

HOME = "https://orbit.example.com/start"
TOO_LONG = "The sign-in to Orbit Notes took too long"
HOUR = 3600


def text_of(response: Any) -> str:
    assert response.status_code == 410, (response.status_code, response.get("Location"))
    return str(response.content.decode())


def resume_url_of(response: Any) -> str:
    """Return where the sign-in page leads."""
    return str(parse_qs(urlsplit(response["Location"]).query)["next"][0])


@pytest.fixture
def stranger(spa: Client) -> RelyingParty:
    return RelyingParty(spa, Browser())


def test_a_sign_in_after_the_session_ended_names_the_app(stranger: RelyingParty, person: Account) -> None:
    come_back = resume_url_of(stranger.authorize())
    later_browser = Browser()  # a session in which nobody is signed in ends after an hour
    form = {"login": person.email, "password": PASSWORD, "next": come_back}
    assert later_browser.post("/account/login/", form)["Location"] == come_back
    text = text_of(later_browser.get(come_back))
    assert TOO_LONG in text
    assert "go back to it and start again" in text
    assert f'signed in to Openport as <span class="break">{person.email}</span>' in text


def test_an_old_request_of_a_living_session_ends(app: RelyingParty, later: Callable[[float], None]) -> None:
    page = app.authorize()
    later(HOUR + 1)
    for path in ("/connect/consent", "/connect/step-up"):
        form = {"reference": page.context["reference"], "decision": "allow"}
        assert TOO_LONG in text_of(app.browser.post(path, form, follow=True)), path
    assert TOO_LONG in text_of(app.browser.get(page.context["choose_url"], follow=True))


def test_another_pending_request_does_not_take_its_place(stranger: RelyingParty, person: Account) -> None:
    other = RelyingParty(stranger.client, sign_in(Browser(), person))
    other.authorize()
    assert TOO_LONG in text_of(other.browser.get(resume_url_of(stranger.authorize())))
    assert other.browser.get("/connect/resume")["Location"].startswith("/connect/authorize?")


def test_an_answered_request_says_so(stranger: RelyingParty, person: Account) -> None:
    come_back = resume_url_of(stranger.authorize())
    sign_in(stranger.browser, person)
    assert "code" in answer_of(stranger.answer_consent(stranger.authorize()))
    text = text_of(stranger.browser.get(come_back))
    assert "You have already answered Orbit Notes" in text
    assert "took too long" not in text


def test_the_chooser_leads_to_the_page_after_another_account_was_chosen(
    app: RelyingParty, later: Callable[[float], None]
) -> None:
    url = app.authorize().context["choose_url"]
    later(HOUR + 1)
    handle = parse_qs(urlsplit(url).query)["request"][0]
    leads = app.browser.post(CHOOSE, ANOTHER | {"request": handle})
    bob = make_account("bob@example.com")
    form = {"login": bob.email, "password": PASSWORD, "next": resume_url_of(leads)}
    assert TOO_LONG in text_of(app.browser.post("/account/login/", form, follow=True))


def test_without_a_named_request_the_account_page_follows(signed_in: Browser) -> None:
    for path in ("/connect/resume", "/connect/resume?request="):
        assert signed_in.get(path)["Location"] == "/account/"


@pytest.mark.parametrize("path", ["/connect/consent", "/connect/step-up"])
def test_a_form_sent_after_sign_out_says_so_after_the_next_sign_in(
    app: RelyingParty, person: Account, path: str
) -> None:
    page = app.authorize()
    app.browser.logout()
    leads = app.browser.post(path, {"reference": page.context["reference"], "decision": "allow"})
    form = {"login": person.email, "password": PASSWORD, "next": resume_url_of(leads)}
    text = text_of(app.browser.post("/account/login/", form, follow=True))
    assert "The sign-in took too long" in text


# --- The way back ---


@pytest.mark.parametrize("state", ["reviewed", "not reviewed", "suspended", "without a home page"])
def test_only_a_reviewed_home_page_is_a_link(stranger: RelyingParty, state: str) -> None:
    come_back = resume_url_of(stranger.authorize())
    if state != "without a home page":
        Client.objects.update(home_page_url=HOME, **({} if state == "not reviewed" else as_reviewed()))
    if state == "suspended":
        Project.objects.update(suspended_at=clock.now())
    text = text_of(Browser().get(come_back))
    assert (f'href="{HOME}"' in text) is (state == "reviewed")
    assert ("orbit.example.com" in text) is (state in ("reviewed", "not reviewed"))
    assert stranger.redirect_uri not in text


def test_a_deleted_app_is_not_named(stranger: RelyingParty) -> None:
    come_back = resume_url_of(stranger.authorize())
    stranger.client.delete()
    assert "The sign-in took too long" in text_of(Browser().get(come_back))


# --- Handles that someone made up ---


def test_only_handles_of_this_service_name_an_app(stranger: RelyingParty) -> None:
    handle = parse_qs(urlsplit(resume_url_of(stranger.authorize())).query)["request"][0]
    key, client_id, signature = handle.split(".")
    other = RelyingParty(stranger.client, Browser())
    other_signature = parse_qs(urlsplit(resume_url_of(other.authorize())).query)["request"][0].split(".")[2]
    for forged in (
        client_id,
        f"{key}.{client_id}",
        f"{key}.{client_id}.",
        f"{key}.{client_id}.{signature[:-1]}",
        f"{key}.{client_id}.{other_signature}",
        f"x{key}.{client_id}.{signature}",
        f"{handle}\x00",
        f".{client_id}.{signature}",
        "x" * 5000,
        "\udcff",
        "https://evil.example.com/",
    ):
        response = Browser().get(f"/connect/resume?{urlencode({'request': forged}, errors='replace')}")
        if response.status_code != 400:  # malformed bytes
            text = text_of(response)
            assert "Orbit" not in text, forged
            assert "evil.example.com" not in text


def test_a_handle_continues_nothing_in_another_session(app: RelyingParty, person: Account) -> None:
    handle = parse_qs(urlsplit(app.authorize().context["choose_url"]).query)["request"][0]
    elsewhere = sign_in(Browser(), person)
    assert TOO_LONG in text_of(elsewhere.get(f"/connect/resume?{urlencode({'request': handle})}"))
    assert app.browser.get(f"/connect/resume?{urlencode({'request': handle})}").status_code == 302


def test_twenty_restored_tabs_can_all_be_answered(stranger: RelyingParty, person: Account) -> None:
    tabs = [resume_url_of(stranger.authorize(state=f"tab-{n}")) for n in range(20)]
    sign_in(stranger.browser, person)
    for n, come_back in enumerate(tabs):
        page = stranger.browser.get(stranger.browser.get(come_back)["Location"])
        answer = answer_of(page if n else stranger.answer_consent(page))
        assert (answer["state"], "code" in answer) == (f"tab-{n}", True)


def test_answered_requests_make_way_before_those_that_wait(app: RelyingParty) -> None:
    first = app.authorize(state="waits")
    for n in range(interactions.MAX_INTERACTIONS + 2):
        answer_of(app.answer_consent(app.authorize(state=f"answered-{n}", prompt="consent")))
    assert len(app.browser.session[interactions.SESSION_KEY]) == interactions.MAX_INTERACTIONS
    assert answer_of(app.answer_consent(first))["state"] == "waits"
