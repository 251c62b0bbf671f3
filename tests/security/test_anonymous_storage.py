"""What a stranger can make the service keep: little, for a short while, and only where it is needed."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.sessions.models import Session
from django.test import Client as Browser
from django.utils import timezone

from accounts.models import Account
from core.http.sessions import hash_of
from devportal.console.models import SignInEvent
from oidc.authorization import interactions
from oidc.models import Client
from oidc.values.parameters import MAX_QUERY
from tests.factories import PASSWORD, make_account
from tests.relying_party import FORM, RelyingParty, answer_of, sign_in

SESSION, CSRF = "openport_session", "openport_csrf"
HOUR, FORTNIGHT = timedelta(hours=1), timedelta(days=14)


@pytest.fixture
def stranger(spa: Client) -> RelyingParty:
    """An app in front of a browser in which nobody is signed in."""
    return RelyingParty(spa, Browser())


def lifetime() -> timedelta:
    """Return how long the one session that there is will be kept, to the minute."""
    minutes = (Session.objects.get().expire_date - timezone.now()).total_seconds() / 60
    return timedelta(minutes=round(minutes))


def is_refused_without_a_trace(response: Any) -> bool:
    return response.status_code in (400, 403) and not response.cookies and not Session.objects.exists()


# --- How much ---


@pytest.mark.parametrize("name", ["state", "id_token_hint", "nobody_knows_this"])
def test_a_request_that_is_too_long_ends_on_a_page(stranger: RelyingParty, name: str) -> None:
    response = stranger.authorize(**{name: "x" * MAX_QUERY})
    assert is_refused_without_a_trace(response)
    assert "The request is longer than 4,096 characters." in response.content.decode()


def test_the_maximum_length_is_exact(stranger: RelyingParty) -> None:
    room = MAX_QUERY - len(urlencode(stranger.parameters(padding="")))
    assert stranger.authorize(padding="x" * room).status_code == 302
    assert stranger.authorize(padding="x" * (room + 1)).status_code == 400


def test_a_too_long_request_is_in_the_sign_in_log(stranger: RelyingParty) -> None:
    from api import usage_counts

    stranger.authorize(state="x" * MAX_QUERY)
    usage_counts.flush_usage()
    assert SignInEvent.objects.get().reason_text == "The request is longer than 4,096 characters."


@pytest.mark.parametrize(("name", "longest"), [("state", 2048), ("nonce", 1024)])
def test_oversized_values_of_an_app_return_an_error_to_it(stranger: RelyingParty, name: str, longest: int) -> None:
    assert stranger.authorize(**{name: "x" * longest}).status_code == 302
    Session.objects.all().delete()
    refused = RelyingParty(stranger.client, Browser(), state=stranger.state).authorize(**{name: "x" * (longest + 1)})
    answer = answer_of(refused)
    assert (answer["error"], answer["error_description"]) == (
        "invalid_request",
        f"{name} is longer than {longest:,} characters.",
    )
    # RFC 6749 §4.1.2.1: the state comes back as it was sent, whatever is wrong with the request.
    assert answer["state"] == ("x" * (longest + 1) if name == "state" else stranger.state)
    assert not refused.cookies
    assert not Session.objects.exists()


def test_before_the_redirect_uri_is_checked_the_error_is_a_page(stranger: RelyingParty) -> None:
    response = stranger.authorize(state="x" * 3000, redirect_uri="https://evil.example/")
    assert is_refused_without_a_trace(response)
    assert "Location" not in response


@pytest.mark.parametrize("length", [MAX_QUERY + 1, 60_000, 300_000])
def test_a_posted_request_has_the_same_bound(stranger: RelyingParty, length: int) -> None:
    body = urlencode(stranger.parameters()) + "&x=" + "x" * length
    response = stranger.browser.post("/connect/authorize", body, content_type=FORM)
    assert is_refused_without_a_trace(response)
    assert "Location" not in response


def test_posted_requests_that_are_refused_are_limited(stranger: RelyingParty, settings: Any) -> None:
    settings.FAILURES_PER_MINUTE = 2
    answers = [stranger.browser.post("/connect/authorize", "x" * 5000, content_type=FORM) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [400, 400, 429]


@pytest.mark.parametrize("name", ["id_token_hint", "x"])
def test_a_sign_out_request_that_is_too_long_proves_nothing(app: RelyingParty, name: str) -> None:
    hint = app.tokens()["id_token"]
    query = urlencode({"id_token_hint": hint, "post_logout_redirect_uri": "https://app.example.com/bye"})
    response = app.browser.get(f"/connect/logout?{query}&{name}{'x' * MAX_QUERY}")
    assert response.status_code == 200
    assert b'name="decision"' in response.content
    posted = app.browser.post("/connect/logout", f"{query}&{name}={'x' * MAX_QUERY}", content_type=FORM)
    assert (posted.status_code, posted["Location"]) == (303, "/connect/logout")


@pytest.mark.django_db
def test_a_long_next_url_is_not_stored(client: Browser) -> None:
    # Django trusts no address of more than 2,048 characters; allauth keeps the others until the code has come.
    long_next = "/" + "y" * 20_000
    form = {"email": "new@example.com", "password1": "correct horse 9", "given_name": "Ada", "next": long_next}
    assert client.post("/account/signup/", form).status_code == 302
    assert "yyyy" not in str(dict(client.session))
    assert len(Session.objects.get().session_data) < 2000


def test_a_session_stays_small(stranger: RelyingParty) -> None:
    import secrets

    sizes = []
    for _ in range(interactions.MAX_INTERACTIONS + 4):
        stranger.authorize(state=secrets.token_hex(1000))
        sizes.append(len(Session.objects.get().session_data))
    assert sizes[0] < 4096
    assert max(sizes) < 16_000
    assert sizes[-1] < sizes[interactions.MAX_INTERACTIONS - 1] * 1.1


# --- How long ---


def test_a_request_that_waits_is_kept_for_an_hour(stranger: RelyingParty) -> None:
    response = stranger.authorize()
    assert lifetime() == HOUR
    assert response.cookies[SESSION]["max-age"] == 3600


def test_signing_in_extends_the_session_to_two_weeks(stranger: RelyingParty, person: Account) -> None:
    stranger.authorize()
    sign_in(stranger.browser, person)
    assert lifetime() == FORTNIGHT
    assert stranger.browser.cookies[SESSION]["max-age"] == 14 * 24 * 3600
    # The request that waited is still there.
    assert stranger.authorize().status_code == 200


def test_a_session_beside_a_signed_in_one_is_kept_for_an_hour(app: RelyingParty) -> None:
    app.authorize()
    signed_in = hash_of(app.browser.cookies[SESSION].value)
    assert app.browser.post("/account/choose", {"decision": "another"}).status_code == 302
    Session.objects.get(pk=signed_in).delete()
    assert lifetime() == HOUR


def test_a_right_password_alone_does_not_make_it_longer(stranger: RelyingParty) -> None:
    # An address that is not proven yet: what is missing is a code from an email.
    unproven = make_account("eve@example.com", verified=False)
    stranger.authorize()
    form = {"login": unproven.email, "password": PASSWORD}
    assert stranger.browser.post("/account/login/", form)["Location"] == "/account/confirm-email/"
    assert lifetime() == HOUR


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/account/signup/", {"email": "new@example.com", "password1": "correct horse 9", "given_name": "Ada"}),
        ("/account/password/reset/", {"email": "ada@example.com"}),
        ("/account/password/reset/", {"email": "nobody@example.com"}),
    ],
)
def test_each_step_of_a_stranger_is_kept_for_an_hour(path: str, form: dict[str, str], person: Account) -> None:
    assert Browser().post(path, form).status_code == 302
    assert lifetime() == HOUR


def test_the_lifetime_is_never_below_that_of_what_it_holds() -> None:
    from devportal import settings as declared

    assert declared.ANONYMOUS_SESSION_SECONDS >= declared.PENDING_REQUEST_SECONDS
    assert declared.ANONYMOUS_SESSION_SECONDS >= declared.ACCOUNT_PASSWORD_RESET_BY_CODE_TIMEOUT


def test_expired_requests_are_forgotten(app: RelyingParty, later: Callable[[float], None]) -> None:
    app.authorize()
    assert interactions.SESSION_KEY in app.browser.session
    later(3601)
    app.browser.get("/account/")
    assert interactions.SESSION_KEY not in app.browser.session


# --- Only where it is needed ---


PAGES = [
    "/", "/docs/", "/nothing-there", "/connect/signed-out", "/connect/logout?state=x&id_token_hint=y",
    "/connect/resume", "/connect/resume?request=x", "/connect/authorize", "/account/", "/account/login/",
    "/account/login/?next=/account/&login_hint=ada@example.com", "/account/signup/", "/account/password/reset/",
    "/console/", "/console/playground/callback?code=x&state=y", "/admin/",
]  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.django_db
def test_opening_pages_starts_no_session(client: Browser, path: str) -> None:
    client.get(path)
    assert not Session.objects.exists()
    assert SESSION not in client.cookies


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "op_client_x"},
        {"redirect_uri": "https://evil.example/"},
        {"state": None},
        {"scope": "openid nonsense"},
        {"prompt": "none"},
        {"code_challenge": None},
        {"response_mode": "form_post", "prompt": "none"},
    ],
)
def test_a_rejected_request_starts_no_session_and_sets_no_cookie(
    stranger: RelyingParty, changes: dict[str, str | None]
) -> None:
    response = stranger.authorize(**changes)
    assert not response.cookies
    assert not Session.objects.exists()


def test_a_disabled_app_starts_no_session(stranger: RelyingParty) -> None:
    Client.objects.update(enabled=False)
    assert is_refused_without_a_trace(stranger.authorize())
