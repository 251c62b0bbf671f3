"""A session is ended while its browser renews it, or twice at once, on PostgreSQL: what is said to have ended, has."""

from typing import Any

import pytest
from allauth.account.signals import user_logged_in
from allauth.usersessions.models import UserSession
from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.models import Session
from django.test import Client as Browser

from accounts.models import SecurityEvent
from accounts.sessions.browser_sessions import end_sessions_by_key, valid_sessions
from core.http.sessions import SessionStore
from tests.at_once import at_once, blocked_by
from tests.factories import make_account
from tests.relying_party import sign_in

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def test_a_session_that_is_ended_while_it_is_renewed() -> None:
    person = make_account("ada@example.com")
    here = sign_in(Browser(), person)
    outcomes = set()
    for _ in range(12):
        there = sign_in(Browser(), person)
        key = there.session.session_key
        row = UserSession.objects.get(session_key=key)
        renewing = SessionStore(key)
        assert "_auth_user_id" in renewing  # it has been read
        before = SecurityEvent.objects.filter(kind="session_ended").count()

        def act(number: int, row: UserSession = row, renewing: SessionStore = renewing) -> str:
            if number == 0:
                return str(here.post(f"/account/sessions/{row.pk}/end").status_code)
            try:
                renewing.cycle_key()
            except SessionInterrupted:
                return "interrupted"
            return "renewed"

        answer, renewal = at_once(2, act)
        assert answer == "302"
        told = SecurityEvent.objects.filter(kind="session_ended").count() - before
        alive = Session.objects.filter(session_key=renewing.session_key).exists()
        # What was renewed before can still be ended.
        assert (told, alive) in ([(1, False)] if renewal == "interrupted" else [(1, False), (0, True)])
        outcomes.add(renewal)
        Session.objects.filter(session_key=renewing.session_key).delete()
    assert outcomes <= {"interrupted", "renewed"}


def test_a_session_that_is_just_beginning_stays_in_the_list() -> None:
    """Otherwise a thief could hide a session: by opening the list in one while signing in to another."""
    person = make_account("ada@example.com")
    here = sign_in(Browser(), person)

    def open_list(**kwargs: Any) -> None:
        at_once(1, lambda _: here.get("/account/sessions/"))

    user_logged_in.connect(open_list)
    try:
        there = sign_in(Browser(), person)
    finally:
        user_logged_in.disconnect(open_list)
    assert there.get("/account/").status_code == 200
    assert there.session.session_key in {entry.session_key for entry in valid_sessions(person)}


def test_two_clicks_end_it_once() -> None:
    person = make_account("ada@example.com")
    first = sign_in(Browser(), person)
    second = Browser()
    second.cookies.update(first.cookies)
    there = sign_in(Browser(), person)
    row = UserSession.objects.get(session_key=there.session.session_key)
    clicks = (first, second)
    answers = at_once(2, lambda number: clicks[number].post(f"/account/sessions/{row.pk}/end").status_code)
    assert sorted(answers) in ([302, 302], [302, 404])
    assert SecurityEvent.objects.filter(kind="session_ended").count() == 1
    assert there.get("/account/sessions/").status_code == 302


@pytest.mark.parametrize("way", ["sign out", "sign out of another account"])
def test_signing_out_ends_a_session_that_gets_a_new_key_at_this_moment(way: str) -> None:
    there = sign_in(Browser(), make_account("ada@example.com"))
    key = there.session.session_key or ""
    renewing, signing_out = SessionStore(key), SessionStore(key)
    assert [session["_auth_user_id"] for session in (renewing, signing_out)]  # both have been read
    blocked_by(renewing.cycle_key, signing_out.flush if way == "sign out" else lambda: end_sessions_by_key([key]))
    assert not Session.objects.exists()
    assert not UserSession.objects.exists()
