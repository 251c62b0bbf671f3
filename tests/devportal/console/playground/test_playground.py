"""The playground: a real sign-in, shown step by step, that leaves nothing behind."""

import html
import json
import logging
import re
from collections.abc import Callable

import pytest
from django.contrib.sessions.models import Session
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from devportal.console.models import AuditEvent
from devportal.console.playground.flow import SESSION_KEY
from oidc.clients.secrets import create_secret
from oidc.models import Client, Connection, Project, TokenFamily
from oidc.values.redirect_uris import playground_redirect_uri
from tests.devportal.console.forms import at
from tests.devportal.console.playground.playing import Playground, parameters_of, tokens_in, tokens_on
from tests.factories import make_client, make_web_client
from tests.relying_party import RelyingParty, sign_in

APP = "https://app.example.com/callback"


@pytest.fixture
def at_keyboard(developer: Account, project: Project) -> Browser:
    return sign_in(Browser(), developer)


@pytest.fixture
def spa(project: Project, at_keyboard: Browser) -> Playground:
    """The playground of a browser app, which is open."""
    return Playground(make_client(project), at_keyboard).open()


@pytest.fixture
def web(project: Project, at_keyboard: Browser) -> tuple[Playground, str]:
    client, secret = make_web_client(project)
    return Playground(client, at_keyboard).open(), secret


def text(page: object) -> str:
    return html.unescape(page.content.decode())  # type: ignore[attr-defined]


def me(token: str) -> int:
    return Browser().get("/v1/me", headers={"Authorization": f"Bearer {token}"}).status_code


# --- The whole way ---


def test_a_web_client_from_the_request_to_its_profile(web: tuple[Playground, str], developer: Account) -> None:
    playground, secret = web
    asked = playground.go("email", "profile", "offline_access")
    assert 'type="password" name="client_secret"' in text(asked)
    page = playground.exchange(secret)
    shown, result = text(page), page.context["result"]
    assert page.status_code == 200
    assert result.granted == ["openid", "email", "profile", "offline_access"]
    assert all(check.holds for token in result.tokens for check in token.checks)
    assert len(result.tokens[0].checks) == 6
    assert all(claim.meaning for token in result.tokens for claim in token.claims)
    assert [call.url for call in result.calls] == ["http://localhost:8000/v1/me"]
    assert json.loads(result.calls[0].body)["email"] == developer.email
    for token in (tokens_on(page)["id_token"], tokens_on(page)["access_token"], tokens_on(page)["refresh_token"]):
        assert token in shown
    assert secret not in shown
    assert "no-store" in page["Cache-Control"]
    # With `no-referrer`, browsers send the page's forms with "Origin: null", which are refused.
    assert page["Referrer-Policy"] == "same-origin"


def test_a_web_client_needs_no_secret(web: tuple[Playground, str], developer: Account) -> None:
    playground, secret = web
    playground.go("email", "profile", "offline_access")
    page = playground.exchange()
    result = page.context["result"]
    assert result.exchange.status == 200
    assert json.loads(result.calls[0].body)["email"] == developer.email
    # The request is shown as the app has to send it.
    assert f"Authorization: Basic base64({playground.client.client_id}:(not shown))" in result.exchange.request_text
    assert playground.client.secrets.get().last_used_at is None
    assert secret not in text(page)


@pytest.mark.parametrize("is_web", [True, False])
def test_tokens_are_refreshed(web: tuple[Playground, str], spa: Playground, is_web: bool) -> None:
    playground = web[0] if is_web else spa
    playground.go("email", "offline_access")
    tokens = tokens_on(playground.exchange())
    page = playground.refresh(tokens["refresh_token"])
    result = page.context["result"]
    assert result.exchange.status == 200
    assert "The refresh" in text(page)
    assert all(check.holds for token in result.tokens for check in token.checks)
    assert [call.status for call in result.calls] == [200]
    newest = tokens_on(page)
    assert newest["refresh_token"] != tokens["refresh_token"]
    assert tokens_on(playground.refresh(newest["refresh_token"]))["access_token"]
    playground.post("end")
    assert me(newest["access_token"]) == 401


def test_a_refresh_that_is_sent_twice_harms_nothing(web: tuple[Playground, str]) -> None:
    playground, _ = web
    playground.go("email", "offline_access")
    page = playground.exchange()
    once, token = page.context["once"], tokens_on(page)["refresh_token"]
    newest = tokens_on(playground.refresh(token, once))
    assert playground.refresh(token, once).status_code == 302
    assert me(newest["access_token"]) == 200


def test_the_optional_parameters_are_sent(spa: Playground, developer: Account) -> None:
    url = spa.begin("email", max_age="300", login_hint=developer.email, acr_values="phr")
    sent = parameters_of(url)
    assert (sent["max_age"], sent["login_hint"], sent["acr_values"]) == ("300", developer.email, "phr")
    assert {name for name, _, meaning in spa.page().context["parameters"] if meaning} >= {"max_age", "acr_values"}
    spa.arrive(spa.sign_in(spa.begin("email", max_age="300")))
    checks = [check for token in spa.exchange().context["result"].tokens for check in token.checks]
    assert any("max_age" in check.what for check in checks)
    assert all(check.holds for check in checks)


@pytest.mark.parametrize(("name", "value"), [("max_age", "soon"), ("max_age", "-1"), ("login_hint", "x" * 255)])
def test_a_parameter_that_can_not_be_sent_shows_an_error(spa: Playground, name: str, value: str) -> None:
    page = spa.post("begin", scope=["profile"], prompt="login", **{name: value})
    assert page.status_code == 400
    assert 'aria-invalid="true"' in text(page)
    assert spa.page().context["run"] is None
    # What was chosen is kept.
    assert 'value="login" selected' in text(page)
    assert page.context["usual_scopes"] == ["profile"]


def test_the_api_is_called_as_far_as_the_scopes_go(spa: Playground) -> None:
    assert "client_secret" not in text(spa.go()).replace("client_secret_basic", ""), "a public client has none"
    page = spa.exchange()
    assert page.context["result"].calls == []
    assert "The developer API needs" in text(page)
    assert f"client_id={spa.client.client_id}" in page.context["result"].exchange.request_text
    Client.objects.filter(pk=spa.client.pk).update(approved_scopes="account.read")
    spa.go("email", "account.read")
    calls = spa.exchange().context["result"].calls
    assert [(call.url.rpartition("/v1")[2], call.status) for call in calls] == [("/me", 200), ("/me/plan", 200)]
    assert "plan_id" in calls[1].body


def test_the_request_is_shown_with_what_each_parameter_is_for(spa: Playground) -> None:
    url = spa.begin("email", prompt="consent")
    page = spa.page()
    assert html.escape(url) in page.content.decode()
    assert {name for name, _, meaning in page.context["parameters"] if meaning} >= {"state", "nonce", "prompt"}
    assert spa.run["verifier"] not in page.content.decode()


def test_a_cancelled_sign_in_is_explained(spa: Playground) -> None:
    page = text(spa.go("email", decision="cancel"))
    assert "access_denied" in page
    assert "offer to try again" in page
    assert "Exchange the code" not in page


def test_prompt_none_answers_with_its_error(spa: Playground) -> None:
    location = spa.sign_in(spa.begin("email", prompt="none"))
    spa.arrive(location)
    assert "consent_required" in text(spa.page())


def test_scopes_and_prompts_that_it_does_not_offer_are_left_out(spa: Playground) -> None:
    spa.begin("email", "account.read", "root", "openid\x00", prompt="everything")
    assert (spa.run["scope"], spa.run["prompt"]) == ("openid email", "")


# --- What does not work out ---


def test_a_wrong_secret_is_explained_and_may_be_fixed(web: tuple[Playground, str]) -> None:
    playground, secret = web
    playground.go("email")
    page = playground.exchange("wrong")
    assert page.context["result"].exchange.error == "invalid_client"
    assert "Compare the client id and the secret" in text(page)
    assert "wrong" not in text(page).split("<ol")[1].replace("is wrong", "")
    assert playground.exchange(secret).context["result"].exchange.status == 200


def test_a_client_without_a_live_secret_keeps_its_code(
    web: tuple[Playground, str], later: Callable[[float], None]
) -> None:
    playground, _ = web
    playground.go("email")
    playground.client.secrets.update(revoked_at=clock.now())
    assert playground.exchange().status_code == 302
    assert "This app has no live secret" in text(playground.page())
    assert playground.run["stage"] == "answered"
    create_secret(playground.client)
    assert playground.exchange().context["result"].exchange.status == 200


def test_an_expired_code_is_explained(spa: Playground, later: Callable[[float], None]) -> None:
    spa.go("email")
    later(120)
    page = spa.exchange()
    assert page.context["result"].exchange.error == "invalid_grant"
    assert "Start a new sign-in" in text(page)


def test_an_old_run_is_deleted(spa: Playground, later: Callable[[float], None]) -> None:
    location = spa.sign_in(spa.begin("email"))
    later(3601)
    assert spa.arrive(location).status_code == 400
    assert spa.page().context["run"] is None


def test_a_repeated_exchange_form_sends_no_code(spa: Playground) -> None:
    once = spa.go("email").context["once"]
    # As a second request finds it that came while the first was under way.
    before = dict(spa.run)
    token = tokens_on(spa.exchange(once=once))["access_token"]
    session = spa.browser.session
    session["playground"] = before
    session.save()
    assert spa.exchange(once=once).status_code == 302
    assert me(token) == 200


# --- What stays ---


def test_tokens_are_shown_once(spa: Playground) -> None:
    spa.go("email", "offline_access")
    tokens = tokens_on(spa.exchange())
    page = text(spa.page())
    assert "The tokens were shown once" in page
    for name in ("access_token", "id_token", "refresh_token"):
        assert tokens[name] not in page
    assert tokens_in(page) == []


def test_ending_the_test_ends_its_tokens_and_keeps_the_consent(spa: Playground, developer: Account) -> None:
    spa.go("email", "offline_access")
    tokens = tokens_on(spa.exchange())
    assert me(tokens["access_token"]) == 200
    assert spa.post("end").status_code == 302
    assert me(tokens["access_token"]) == 401
    party = RelyingParty(spa.client, spa.browser)
    assert party.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert Connection.objects.get(client=spa.client, account=developer).removed_at is None
    assert spa.page().context["run"] is None


def test_tokens_end_with_a_run_whose_exchange_was_not_stored(spa: Playground) -> None:
    """Another tab has read the session before, or the process died between the token response and the session."""
    spa.go("email", "profile", "offline_access")
    before = spa.run
    token = tokens_on(spa.exchange())["access_token"]
    session = spa.browser.session
    session[SESSION_KEY] = before
    session.save()
    assert me(token) == 200
    spa.begin("email")
    assert me(token) == 401
    assert not TokenFamily.objects.filter(revoked_at=None).exists()


def test_ending_a_run_ends_no_other_sign_in(spa: Playground) -> None:
    spa.go("email")
    spa.exchange()
    mine = RelyingParty(spa.client, spa.browser).tokens(scope="openid email")["access_token"]
    spa.post("end")
    assert me(mine) == 200


def test_a_run_stored_by_another_version_is_handled(spa: Playground) -> None:
    versions: tuple[object, ...] = ({"old": 1}, "x", None, [], 7)
    for kept in versions:
        session = spa.browser.session
        session["playground"] = kept
        session.save()
        assert spa.page().status_code == 200
        assert spa.post("end").status_code == 302


# --- Its address ---


def test_the_address_is_added_at_the_end_and_taken_away(project: Project, at_keyboard: Browser) -> None:
    client = make_client(project, redirect_uris=f"{APP} http://localhost:3000/cb")
    playground = Playground(client, at_keyboard)
    before = client.redirect_uris
    playground.post("begin", scope=["email"])
    page = playground.page()
    assert page.context["run"] is None
    assert "redirect URL to this app first" in text(page)
    assert "Register the playground" in text(playground.page())
    for _ in range(2):
        playground.open()
        client = Client.objects.get(pk=client.pk)
        assert client.redirect_uris == f"{before} {playground_redirect_uri()}"
    for _ in range(2):
        playground.post("address", wanted="no")
        assert Client.objects.get(pk=client.pk).redirect_uris == before
    trail = AuditEvent.objects.filter(action="client.changed", target=client.client_id)
    assert trail.count() == 2
    added = trail.order_by("pk")[0]
    assert added.after == {"redirect_uris": [*before.split(), playground_redirect_uri()]}
    assert added.actor_email == "dan@example.com"


def test_errors_of_the_list_of_redirect_urls_are_shown(project: Project, at_keyboard: Browser) -> None:
    full = make_client(project, redirect_uris=" ".join(f"{APP}/{number}" for number in range(50)))
    playground = Playground(full, at_keyboard).open()
    assert "at most 50 of these URLs" in text(playground.page())
    only = make_client(project, redirect_uris=playground_redirect_uri())
    playground = Playground(only, at_keyboard)
    playground.post("address", wanted="no")
    assert "Add at least one URL" in text(playground.page())
    assert Client.objects.get(pk=only.pk).redirect_uris == playground_redirect_uri()


def test_the_playground_never_acts_as_an_app(project: Project) -> None:
    only = make_client(project, redirect_uris=playground_redirect_uri())
    first = make_client(project, redirect_uris=f"{playground_redirect_uri()} {APP}")
    assert (only.domain, first.domain) == ("", "app.example.com")


# --- Who ---


def test_people_who_will_count_are_informed(project: Project, at_keyboard: Browser, as_owner: Browser) -> None:
    client = make_client(project)
    told = "toward the project’s limit of people"
    assert told in text(Playground(client, at_keyboard).page())
    assert told not in text(Playground(client, as_owner).page())


def test_no_session_holds_a_code_a_token_or_a_secret(web: tuple[Playground, str]) -> None:
    playground, secret = web
    location = playground.sign_in(playground.begin("email", "offline_access"))
    code = location.partition("code=")[2].partition("&")[0]
    playground.arrive(location)

    def kept() -> str:
        return json.dumps([row.get_decoded() for row in Session.objects.all()])

    assert playground.run["stage"] == "answered"
    assert code not in kept()
    tokens = tokens_on(playground.exchange(secret))
    for private in (code, secret, tokens["access_token"], tokens["id_token"], tokens["refresh_token"]):
        assert private not in kept()


def test_nothing_private_is_logged(web: tuple[Playground, str], caplog: pytest.LogCaptureFixture) -> None:
    playground, secret = web
    with caplog.at_level(logging.DEBUG):
        playground.go("email")
        playground.exchange("op_secret_wrongwrongwrong")
        tokens = tokens_on(playground.exchange(secret))
    for private in (secret, "wrongwrongwrong", tokens["access_token"], tokens["id_token"], playground.run["verifier"]):
        assert private not in caplog.text


def test_owners_and_developers_use_it_and_viewers_see_only_the_tester(
    project: Project, as_owner: Browser, as_viewer: Browser, as_outsider: Browser
) -> None:
    client = make_client(project)
    assert Playground(client, as_owner).page().status_code == 200
    page = Playground(client, as_viewer).page()
    assert page.status_code == 200
    actions = re.findall(r'<form[^>]* action="([^"]+)"', page.content.decode().partition("<main")[2])
    assert actions == [at("client_tester", project, client) + "#tester"]
    assert Playground(client, as_outsider).page().status_code == 404
