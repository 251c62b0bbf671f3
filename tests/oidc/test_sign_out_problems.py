"""Sign-out requests that are not valid: the log, what developers see, and what strangers can do with them."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client as Browser
from django.urls import reverse

from accounts.models import Account
from api import usage_counts
from core import clock
from devportal.console.models import SignInEvent, SignInHour
from oidc.models import Client, ProjectMember
from oidc.values.reasons import Reason
from tests.factories import SIGN_OUT_URI, make_account, make_client
from tests.relying_party import FORM, RelyingParty, sign_in

MINE = "You work on this app"
NOT_VALID = "because its sign-out request is not valid"
OTHER = "https://app.example.com/leave"
Mover = Callable[[float], None]


@pytest.fixture
def hint(app: RelyingParty) -> str:
    token: str = app.tokens()["id_token"]
    return token


def log_out(browser: Browser, **parameters: str) -> Any:
    return browser.get(f"/connect/logout?{urlencode(parameters)}")


def text_of(response: Any) -> str:
    return str(response.content.decode())


def entries() -> list[SignInEvent]:
    usage_counts.flush_usage()
    return list(SignInEvent.objects.filter(endpoint="end_session").order_by("pk"))


# --- The sign-in log ---


def problems(app: RelyingParty, hint: str) -> list[tuple[Reason, dict[str, str]]]:
    named = {"client_id": app.client.client_id}
    return [
        (Reason.SIGN_OUT_URI_NOT_REGISTERED, {"id_token_hint": hint, "post_logout_redirect_uri": OTHER}),
        (Reason.SIGN_OUT_HINT_INVALID, named | {"id_token_hint": hint[:-4], "post_logout_redirect_uri": SIGN_OUT_URI}),
        (Reason.SIGN_OUT_HINT_INVALID, named | {"id_token_hint": app.tokens()["access_token"]}),
        (Reason.SIGN_OUT_HINT_MISSING, named | {"post_logout_redirect_uri": SIGN_OUT_URI}),
        (Reason.SIGN_OUT_CLIENT_DIFFERS, {"id_token_hint": hint, "client_id": "op_client_other"}),
        (Reason.PARAMETER_UNCLEAR, named | {"id_token_hint": hint, "state": "\x00"}),
    ]


def test_each_problem_is_logged_with_its_reason(app: RelyingParty, hint: str) -> None:
    for reason, parameters in problems(app, hint):
        for browser in (app.browser, Browser()):  # asked, and redirected to the page after signing out
            response = log_out(browser, **parameters)
            assert response.status_code == 200 or response["Location"].partition("?")[0] == "/connect/signed-out"
            (entry,) = entries()
            assert (entry.client, entry.outcome, entry.reason) == (app.client, "refused", reason)
            assert entry.error == "invalid_request"
            assert entry.redirect_uri == parameters.get("post_logout_redirect_uri", "")
            assert entry.request_id == response["X-Request-ID"]
            entry.delete()
    assert SignInHour.objects.filter(step="not_signed_out", error="invalid_request").exists()
    Client.objects.update(post_logout_redirect_uris="")
    log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=OTHER)
    (entry,) = entries()
    assert entry.reason == Reason.NO_SIGN_OUT_URI_REGISTERED


def test_valid_requests_are_not_logged(app: RelyingParty, hint: str) -> None:
    log_out(app.browser)
    log_out(app.browser, client_id=app.client.client_id)
    log_out(app.browser, id_token_hint=hint)
    log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=SIGN_OUT_URI)
    assert entries() == []


def test_a_posted_request_is_logged_once(app: RelyingParty, hint: str) -> None:
    body = urlencode({"id_token_hint": hint, "post_logout_redirect_uri": OTHER})
    response = app.browser.post("/connect/logout", body, content_type=FORM)
    app.browser.get(response["Location"])
    assert len(entries()) == 1


def test_the_log_holds_no_token_and_no_secret_of_a_url(app: RelyingParty, hint: str) -> None:
    sent = f"{OTHER}?token=hidden-value&id_token_hint={hint}"
    log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=sent)
    (entry,) = entries()
    stored = f"{entry.redirect_uri} {entry.parameters}"
    assert "hidden-value" not in stored
    assert hint not in stored
    assert hint.split(".")[1] not in stored


# --- Strangers ---


def test_a_stranger_writes_no_more_than_the_limit_and_keeps_nobody_from_signing_out(
    app: RelyingParty, hint: str, settings: Any, later: Mover
) -> None:
    settings.FAILURES_PER_MINUTE = 3
    later(60 - clock.now().timestamp() % 60)
    for _ in range(6):
        assert log_out(Browser(), client_id=app.client.client_id, id_token_hint="x").status_code == 302
    assert len(entries()) == 3
    assert NOT_VALID in text_of(log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=OTHER))
    response = log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=SIGN_OUT_URI)
    assert response["Location"] == SIGN_OUT_URI
    assert "_auth_user_id" not in app.browser.session


def test_many_addresses_fill_no_log(app: RelyingParty, settings: Any, later: Mover) -> None:
    settings.SIGN_IN_LOG_PER_MINUTE = 4
    later(60 - clock.now().timestamp() % 60)
    for number in range(8):
        stranger = Browser(REMOTE_ADDR=f"198.51.100.{number}")
        log_out(stranger, client_id=app.client.client_id, id_token_hint="x")
    assert len(entries()) == 4


def test_unknown_clients_are_not_counted_and_leave_nothing(db: None, settings: Any) -> None:
    settings.FAILURES_PER_MINUTE = 1
    for _ in range(3):
        log_out(Browser(), client_id="op_client_" + "x" * 22, id_token_hint="x")
    assert entries() == []
    assert not SignInHour.objects.exists()


# --- What people and developers see ---


def test_developers_see_the_received_and_the_registered_url(app: RelyingParty, member: Account, hint: str) -> None:
    sent = "https://app.example.com/signed-off"
    page = text_of(log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=sent))
    assert MINE in page
    assert NOT_VALID in page
    assert "The sign-out URL of the request is not registered." in page
    assert "<dt>Received</dt>" in page
    assert "<dt>Registered</dt>" in page
    assert "add_sign_out=https%3A%2F%2Fapp.example.com%2Fsigned-off" in page
    assert f"/clients/{app.client.client_id}/activity?request_id=" in page
    assert f"/clients/{app.client.client_id}/playground#tester" in page
    assert f'href="{sent}"' not in page
    assert 'name="decision" value="sign-out"' in page


def test_a_bad_hint_shows_developers_the_reason(app: RelyingParty, member: Account) -> None:
    sent = {"client_id": app.client.client_id, "id_token_hint": "x", "post_logout_redirect_uri": SIGN_OUT_URI}
    page = text_of(log_out(app.browser, **sent))
    assert MINE in page
    assert "id_token_hint is not an ID token of this service." in page
    assert "add_sign_out" not in page
    page = text_of(log_out(app.browser, **(sent | {"post_logout_redirect_uri": OTHER})))
    assert "id_token_hint is not an ID token of this service. The sign-out URL is not registered either." in page
    assert "<mark>" in page
    Client.objects.update(post_logout_redirect_uris="")
    sent = {"id_token_hint": app.tokens()["id_token"], "post_logout_redirect_uri": OTHER}
    assert "The app has no sign-out URL yet." in text_of(log_out(app.browser, **sent))


@pytest.mark.parametrize("uri", ["javascript:alert(1)", "https://x.example/?token=hidden-value", "http://x.example/"])
def test_a_url_that_can_not_be_registered_has_no_add_link(
    uri: str, app: RelyingParty, member: Account, hint: str
) -> None:
    page = text_of(log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=uri))
    assert MINE in page
    assert "add_sign_out" not in page
    assert "hidden-value" not in page


def test_viewers_get_no_link_that_adds_a_url(app: RelyingParty, member: Account, hint: str) -> None:
    ProjectMember.objects.update(role="viewer")
    page = text_of(log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=OTHER))
    assert MINE in page
    assert "add_sign_out" not in page


def test_everyone_else_gets_the_documentation(app: RelyingParty, hint: str) -> None:
    ProjectMember.objects.filter(project=app.client.project).delete()
    owner = make_client(name="Other").project.members.get().account
    for browser in (app.browser, sign_in(Browser(), make_account()), sign_in(Browser(), owner)):
        page = text_of(log_out(browser, id_token_hint=hint, post_logout_redirect_uri=OTHER))
        assert MINE not in page
        assert NOT_VALID in page
        assert "/docs/errors#page-sign-out" in page
        assert SIGN_OUT_URI not in page
        assert OTHER not in page


def test_a_request_without_a_problem_says_nothing_of_it(app: RelyingParty, member: Account, hint: str) -> None:
    for parameters in ({}, {"id_token_hint": hint}, {"client_id": app.client.client_id}):
        page = text_of(log_out(app.browser, **parameters))
        assert NOT_VALID not in page
        assert MINE not in page


def test_a_request_that_is_too_long_or_has_too_many_parameters(app: RelyingParty) -> None:
    for query in ("state=" + "x" * 5000, "&".join(f"a{number}=1" for number in range(2000))):
        response = app.browser.get(f"/connect/logout?{query}")
        assert response.status_code == 200
        assert NOT_VALID in text_of(response)
    assert entries() == []


# --- The console ---


def test_the_entry_has_the_difference_the_fix_and_a_curl_command(app: RelyingParty, member: Account, hint: str) -> None:
    log_out(app.browser, id_token_hint=hint, post_logout_redirect_uri=OTHER)
    (entry,) = entries()
    args = [app.client.project.public_id, app.client.client_id]
    response = app.browser.get(reverse("console:sign_in_detail", args=[*args, entry.pk]))
    page = text_of(response)
    assert "Sign-out URL" in page
    assert "Redirect URL" not in page
    assert "Received and registered" in page
    assert "/connect/logout" in response.context["curl"]
    fix = response.context["fix"]
    assert "add_sign_out=" in fix.url
    settings_page = app.browser.get(fix.url)
    assert f'name="post_logout_redirect_uris" id="id_post_logout_redirect_uris_2" value="{OTHER}"' in text_of(
        settings_page
    )
    assert text_of(settings_page).count(OTHER) == 1
    Client.objects.update(post_logout_redirect_uris=OTHER)
    fix = app.browser.get(reverse("console:sign_in_detail", args=[*args, entry.pk])).context["fix"]
    assert "now registered" in fix.text
