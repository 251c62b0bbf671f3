"""Sessions that nobody uses end: after SESSION_IDLE_SECONDS, and after ADMIN_IDLE_SECONDS once the admin was opened."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.test import Client as Browser
from django.utils import timezone

from accounts.models import Account
from accounts.sessions.browser_accounts import MARK
from core.http import sessions
from core.http.sessions import ACTIVE_EVERY, IN_ADMIN, SessionStore
from tests.accounts.factors.conftest import give_app
from tests.factories import PASSWORD, make_account
from tests.oidc.test_budgets import Counted
from tests.relying_party import age_sign_in, sign_in
from tests.security.test_sessions import is_signed_in
from tests.totp import totp

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600
Wait = Callable[[float], None]


@pytest.fixture
def wait(later: Wait, monkeypatch: pytest.MonkeyPatch) -> Wait:
    """Move the clock by which sessions end, together with the service's."""
    ahead = 0.0

    def move(seconds: float) -> None:
        nonlocal ahead
        ahead += seconds
        later(seconds)

    monkeypatch.setattr(sessions, "now", lambda: timezone.now() + timedelta(seconds=ahead))
    return move


def end_of(browser: Browser) -> float:
    """Return when the browser's session ends if it is not used, in seconds from the real now."""
    [row] = Session.objects.filter(session_key=browser.session.session_key)
    return (row.expire_date - timezone.now()).total_seconds()


# --- People ---


def test_a_session_that_nobody_uses_ends(signed_in: Browser, settings: Any, wait: Wait) -> None:
    settings.SESSION_IDLE_SECONDS = 2 * HOUR
    sign_in(browser := Browser(), Account.objects.get())
    wait(2 * HOUR - MINUTE)
    assert is_signed_in(browser)
    wait(2 * HOUR + MINUTE)
    answer = browser.get("/account/sessions/")
    assert answer["Location"] == "/account/login/?next=/account/sessions/"
    browser.get(answer["Location"])
    assert not browser.cookies["openport_session"].value


def test_a_session_in_use_continues(person: Account, settings: Any, wait: Wait) -> None:
    settings.SESSION_IDLE_SECONDS = 2 * HOUR
    browser = sign_in(Browser(), person)
    for _ in range(20):
        wait(HOUR)
        assert is_signed_in(browser)


def test_use_does_not_lengthen_a_session_beyond_its_life(person: Account, settings: Any, wait: Wait) -> None:
    settings.SESSION_IDLE_SECONDS, settings.SESSION_COOKIE_AGE = 2 * HOUR, 5 * HOUR
    browser = sign_in(Browser(), person)
    for _ in range(4):
        wait(HOUR)
        assert is_signed_in(browser)
    wait(HOUR + MINUTE)
    assert not is_signed_in(browser)


def test_the_cookie_lasts_as_long_as_the_session_may(person: Account, settings: Any) -> None:
    """Activity does not send it again."""
    settings.SESSION_IDLE_SECONDS = 2 * HOUR
    browser = sign_in(Browser(), person)
    assert browser.cookies["openport_session"]["max-age"] == 14 * DAY


def test_activity_is_stored_once_in_ten_minutes(person: Account, settings: Any, wait: Wait) -> None:
    settings.SESSION_IDLE_SECONDS = 2 * HOUR
    browser = sign_in(Browser(), person)
    is_signed_in(browser)
    stored = []
    for _ in range(12):
        wait(ACTIVE_EVERY / 4)
        with Counted() as counted:
            browser.get("/account/sessions/")
        stored.append(sum("UPDATE" in sql and "django_session" in sql for sql in counted.statements))
    assert sum(stored) == 3
    assert max(stored) == 1


def test_by_default_activity_of_people_writes_nothing(signed_in: Browser, wait: Wait) -> None:
    for _ in range(5):
        wait(DAY)
        with Counted() as counted:
            assert signed_in.get("/account/sessions/").status_code == 200
        assert not any("UPDATE" in sql and "django_session" in sql for sql in counted.statements)


def test_storing_activity_keeps_other_session_data(person: Account, settings: Any, wait: Wait) -> None:
    settings.SESSION_IDLE_SECONDS = 2 * HOUR
    browser = sign_in(Browser(), person)
    wait(HOUR)
    session = SessionStore.from_cookie(browser.cookies["openport_session"].value)
    assert session.get("tab") is None  # as another request has read it
    other = SessionStore.from_cookie(browser.cookies["openport_session"].value)
    other["tab"] = "kept"
    other.save()
    session.note_activity()
    assert browser.session["tab"] == "kept"


def test_storing_activity_does_not_extend_a_session_in_which_the_admin_was_just_opened(
    person: Account, settings: Any, wait: Wait
) -> None:
    settings.SESSION_IDLE_SECONDS, settings.SESSION_COOKIE_AGE = 14 * DAY, 30 * DAY
    browser = sign_in(Browser(), person)
    wait(HOUR)
    session = SessionStore.from_cookie(browser.cookies["openport_session"].value)
    assert session.get(IN_ADMIN) is None  # as another request has read it
    other = SessionStore.from_cookie(browser.cookies["openport_session"].value)
    other[IN_ADMIN] = True
    other.save()
    session.note_activity()
    assert end_of(browser) <= HOUR + settings.ADMIN_IDLE_SECONDS


def test_storing_activity_restores_no_ended_session(person: Account, settings: Any, wait: Wait) -> None:
    settings.SESSION_IDLE_SECONDS = 2 * HOUR
    browser = sign_in(Browser(), person)
    wait(HOUR)
    session = SessionStore.from_cookie(browser.cookies["openport_session"].value)
    assert session.get("tab") is None
    Session.objects.all().delete()
    session.note_activity()
    assert not Session.objects.exists()


def test_pages_work_with_a_read_only_database(
    person: Account, settings: Any, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SESSION_IDLE_SECONDS = 2 * HOUR
    browser = sign_in(Browser(), person)
    is_signed_in(browser)
    wait(HOUR)

    def refuse(*args: Any, **changes: Any) -> int:
        raise DatabaseError("read-only")

    monkeypatch.setattr("django.db.models.query.QuerySet.update", refuse)
    assert is_signed_in(browser)


def test_another_account_that_waits_in_the_browser_ends_too(person: Account, settings: Any) -> None:
    settings.SESSION_IDLE_SECONDS = 2 * HOUR
    browser = sign_in(Browser(), person)
    browser.post("/account/choose", {"decision": "another"})
    sign_in(browser, make_account("bob@example.com"))
    waiting = Session.objects.exclude(session_key=browser.session.session_key)
    [row] = [row for row in waiting if MARK in row.get_decoded()]
    assert 2 * HOUR - MINUTE < (row.expire_date - timezone.now()).total_seconds() <= 2 * HOUR
    waiting.update(expire_date=timezone.now())
    assert [each.account.email for each in browser.get("/account/choose").context["choices"]] == ["bob@example.com"]


# --- Staff in the admin ---


@pytest.fixture
def root(db: None) -> Account:
    return make_account("root@example.com", is_staff=True, is_superuser=True)


@pytest.mark.parametrize("page", ["/admin/", "/account/"])
def test_a_session_in_which_the_admin_was_opened_ends_sooner(page: str, root: Account, wait: Wait) -> None:
    """Other pages extend it no further than the admin does."""
    browser = sign_in(Browser(), root)
    assert browser.get("/admin/").status_code == 200
    wait(6 * HOUR)
    assert browser.get(page).status_code == 200
    wait(12 * HOUR + MINUTE)
    answer = browser.get("/admin/accounts/account/", follow=True)
    assert answer.request["PATH_INFO"] == "/account/login/"
    assert not is_signed_in(browser)  # everywhere


def test_an_admin_session_continues_while_it_is_used(root: Account, wait: Wait) -> None:
    browser = sign_in(Browser(), root)
    for number in range(6):
        assert browser.get(("/admin/", "/account/")[number % 2]).status_code == 200
        wait(11 * HOUR)


def test_staff_outside_the_admin_have_the_usual_lifetime(root: Account, wait: Wait) -> None:
    browser = sign_in(Browser(), root)
    wait(5 * DAY)
    assert is_signed_in(browser)
    assert IN_ADMIN not in browser.session


def test_other_people_who_ask_for_the_admin_are_not_marked(signed_in: Browser) -> None:
    assert signed_in.get("/admin/").status_code in (302, 403)
    assert IN_ADMIN not in signed_in.session


def test_an_old_sign_in_opens_the_admin_only_after_it_is_confirmed(root: Account, settings: Any) -> None:
    settings.ADMIN_SECOND_FACTOR = True
    secret = give_app(root)
    Authenticator.objects.update(created_at=timezone.now() - timedelta(days=365))
    browser = Browser()
    browser.post("/account/login/", {"login": root.email, "password": PASSWORD})
    assert browser.post("/account/2fa/authenticate/", {"code": totp(secret)})["Location"] == "/connect/resume"
    age_sign_in(browser, 12 * HOUR + MINUTE)
    assert is_signed_in(browser)
    answer = browser.get("/admin/", follow=True)
    assert answer.request["PATH_INFO"] == "/account/2fa/reauthenticate/"
    browser.post("/account/reauthenticate/", {"login": root.email, "password": PASSWORD})  # not enough
    assert browser.get("/admin/").status_code == 302
    assert browser.post("/account/2fa/reauthenticate/", {"code": totp(secret, 1)}).status_code == 302
    assert browser.get("/admin/").status_code == 200
