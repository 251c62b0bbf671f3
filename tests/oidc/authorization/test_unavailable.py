"""A client that is off, a project that is suspended (docs/sign-in.md#apps-that-are-turned-off-or-suspended)."""

from collections.abc import Callable

import pytest
from django.test import Client as Browser

from core import clock
from oidc.models import Client
from tests.factories import SIGN_OUT_URI, as_reviewed
from tests.relying_party import RelyingParty

Switch = Callable[[Client, bool], None]


def turn(client: Client, on: bool) -> None:
    Client.objects.filter(pk=client.pk).update(enabled=on)


def suspend(client: Client, on: bool) -> None:
    client.project.suspended_at = None if on else clock.now()
    client.project.save()


switches = pytest.mark.parametrize("switch", [turn, suspend], ids=["client off", "project suspended"])


@switches
@pytest.mark.parametrize("prompt", [None, "none", "login"])
def test_people_see_a_page_and_are_never_sent_back(app: RelyingParty, switch: Switch, prompt: str | None) -> None:
    app.tokens()
    switch(app.client, False)
    for mode in ("query", "form_post"):
        response = app.authorize(prompt=prompt, response_mode=mode)
        assert response.status_code == 403
        assert "Location" not in response
        assert b"data-submit-at-once" not in response.content
    text = response.content.decode()
    assert "unavailable" in text
    assert "Orbit Notes" in text
    assert response["X-Request-ID"] in text
    assert "app.example.com" not in text


@switches
def test_people_are_not_asked_to_sign_in_first(spa: Client, switch: Switch) -> None:
    switch(spa, False)
    assert RelyingParty(spa, Browser()).authorize().status_code == 403


@switches
@pytest.mark.parametrize("has_session", [True, False], ids=["signed in", "signed out"])
def test_a_sign_out_does_not_send_people_back(app: RelyingParty, switch: Switch, has_session: bool) -> None:
    sent = {"id_token_hint": app.tokens()["id_token"], "post_logout_redirect_uri": SIGN_OUT_URI, "state": "s"}
    browser = app.browser if has_session else Browser()
    switch(app.client, False)
    response = browser.get("/connect/logout", sent)
    if has_session:
        assert b'value="sign-out"' in response.content
        response = browser.post("/connect/logout/confirm", {"decision": "sign-out"})
    assert response["Location"] == "/connect/signed-out"
    assert browser.get("/account/").status_code == 302
    switch(app.client, True)
    assert browser.get("/connect/logout", sent)["Location"] == f"{SIGN_OUT_URI}?state=s"


@switches
def test_a_code_is_invalid_grant(app: RelyingParty, switch: Switch) -> None:
    code = app.code()
    switch(app.client, False)
    response = app.exchange(code)
    assert (response.status_code, response.json()["error"]) == (400, "invalid_grant")


@switches
def test_the_client_is_authenticated_first(web_app: RelyingParty, switch: Switch) -> None:
    code = web_app.code()
    switch(web_app.client, False)
    response = web_app.exchange(code, client_secret="wrong")
    assert (response.status_code, response.json()["error"]) == (401, "invalid_client")


@switches
def test_tokens_work_again_after_the_client_is_turned_on(app: RelyingParty, switch: Switch) -> None:
    tokens = app.tokens()
    switch(app.client, False)
    assert app.refresh(tokens["refresh_token"]).status_code == 400
    switch(app.client, True)
    assert app.call("/connect/userinfo", tokens["access_token"]).status_code == 200
    assert app.refresh(tokens["refresh_token"]).status_code == 200


@switches
def test_revocation_still_works(app: RelyingParty, switch: Switch) -> None:
    tokens = app.tokens()
    switch(app.client, False)
    form = {"token": tokens["refresh_token"], "client_id": app.client.client_id}
    assert app.post("/connect/revoke", form).status_code == 200
    switch(app.client, True)
    assert app.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_other_clients_of_the_project_keep_working(app: RelyingParty, web_app: RelyingParty) -> None:
    turn(app.client, False)
    assert web_app.tokens()["token_type"] == "Bearer"


def test_the_support_address_adds_nothing_to_the_mail_link(app: RelyingParty) -> None:
    app.tokens()
    fields = {"support_address": "help?bcc=mallory&x@example.com", "enabled": False} | as_reviewed()
    Client.objects.filter(pk=app.client.pk).update(**fields)
    assert 'href="mailto:help%3Fbcc%3Dmallory%26x@example.com"' in app.authorize().content.decode()
