"""Sessions that have ended: the sign-in page says so, and their rows are deleted."""

from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.test import Client as Browser

from accounts.models import Account
from accounts.tasks import clear_sessions
from core import clock
from core.http.sessions import AFTER_ENDED
from oidc.models import Client
from tests.factories import PASSWORD, make_account
from tests.relying_party import RelyingParty

SAID = "your session in this browser has ended"


@pytest.fixture
def ended(client: Browser, person: Account) -> Browser:
    """A browser in which someone was signed in until the session was ended elsewhere."""
    client.force_login(person)
    Session.objects.all().delete()
    return client


def test_the_sign_in_page_says_that_the_session_has_ended(ended: Browser) -> None:
    answer = ended.get("/account/", follow=True)
    assert answer.redirect_chain
    assert SAID in answer.content.decode()
    assert not Session.objects.exists(), "a stale cookie stores nothing"


def test_it_is_said_although_an_app_s_request_was_stored_before(ended: Browser, spa: Client) -> None:
    asked = ended.get(RelyingParty(spa, ended).authorize()["Location"])
    assert Session.objects.count() == 1
    assert SAID in asked.content.decode()


def test_it_is_not_said_to_strangers_and_after_signing_out(client: Browser, person: Account) -> None:
    assert SAID not in client.get("/account/login/").content.decode()
    client.force_login(person)
    client.post("/account/logout/")
    assert SAID not in client.get("/account/login/").content.decode()


def test_signing_in_again_ends_it(ended: Browser) -> None:
    again = make_account("again@example.com")
    assert SAID in ended.get("/account/login/").content.decode()
    ended.post("/account/login/", {"login": again.email, "password": PASSWORD})
    assert ended.session.get("_auth_user_id") == str(again.pk)
    assert AFTER_ENDED not in ended.session


def test_only_expired_rows_are_deleted(signed_in: Browser) -> None:
    signed_in.get("/account/")
    clear_sessions()
    assert UserSession.objects.count() == 1
    assert signed_in.get("/account/").status_code == 200
    Session.objects.update(expire_date=clock.now() - timedelta(seconds=1))
    assert clear_sessions() == 1
    assert not Session.objects.exists()
