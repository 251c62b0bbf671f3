"""The pages that show what happened, where one is signed in, and what to do if it was someone else."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.models import Session
from django.test import Client as Browser

from accounts.activity import kinds
from accounts.activity.recording import By, record, sentence, token_of
from accounts.models import Account, AccountRecovery, SecurityEvent
from accounts.sessions import browser_sessions
from accounts.signals import sessions_ended
from core.http import sessions as core_sessions
from core.http.sessions import SessionStore
from core.messages import fill_in
from oidc.authorization import consent
from oidc.models import Client
from tests.factories import PASSWORD, make_account
from tests.oidc.test_budgets import Counted
from tests.relying_party import RelyingParty, sign_in

pytestmark = pytest.mark.django_db

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1"


def page(browser: Browser, path: str) -> str:
    answer = browser.get(path)
    assert answer.status_code == 200, answer
    return str(answer.content.decode())


def is_signed_in(browser: Browser) -> bool:
    return bool(browser.get("/account/sessions/").status_code == 200)


# --- Activity ---


def test_an_entry_shows_the_event_the_place_and_the_actor(signed_in: Browser, person: Account) -> None:
    record(person, "roles_changed", by=By.OPERATOR, roles="reviewer")
    record(person, "second_factors_lost", by=By.SERVICE, notify=False)
    record(person, "app_removed", app="<b>{braces}</b>")
    text = page(signed_in, "/account/activity/")
    for words in (
        "Signed in with a password",
        "Unknown browser</h2>",
        "IP address 127.0.0.1",
        "Roles changed: reviewer",
        "The Openport team</h2>",
        "Openport, automatically</h2>",
        "&lt;b&gt;{braces}&lt;/b&gt; was removed from the account",
    ):
        assert words in text, words
    assert text.index("was removed") < text.index("Signed in with") < text.index("Roles changed")
    assert text.count('href="/account/secure/?event=') == 4


def test_events_are_grouped_by_device(signed_in: Browser, person: Account) -> None:
    for agent in (FIREFOX, SAFARI, FIREFOX):
        sign_in(Browser(headers={"user-agent": agent}), person)
    SecurityEvent.objects.filter(browser="Unknown browser").delete()
    text = page(signed_in, "/account/activity/")
    assert re.findall(r'<h2 id="device-\d" class="break">([^<]*)<', text) == ["Firefox on Linux", "Safari on an iPhone"]
    assert text.split("Safari on an iPhone")[0].count("This was not me") == 2


def test_events_of_others_are_not_shown(signed_in: Browser) -> None:
    record(make_account("bob@example.com"), "app_allowed", app="Bob's app")
    assert "Bob" not in page(signed_in, "/account/activity/")


def test_the_activity_page_is_paged_by_key(signed_in: Browser, person: Account) -> None:
    for number in range(30):
        record(person, "app_allowed", app=f"App {number}.")
    first = page(signed_in, "/account/activity/")
    older = re.search(r"\?before=\d+", first)
    assert "App 29." in first
    assert "App 4." not in first
    assert older
    second = page(signed_in, f"/account/activity/{older[0]}")
    assert "App 4." in second
    assert "App 5." not in second
    newer = re.search(r"\?after=\d+", second)
    assert newer
    assert "App 29." in page(signed_in, f"/account/activity/{newer[0]}")
    for odd in ("x", "-1", "9" * 30, "0", "%00"):
        assert signed_in.get(f"/account/activity/?before={odd}").status_code in (200, 400)


def test_every_kind_of_event_has_a_sentence() -> None:
    details: dict[str, Any] = dict.fromkeys(
        ("old", "new", "address", "name", "which", "app", "roles", "email", "number"), "x"
    )
    details |= {"apis": ["x", "y"]}
    details |= {"methods": list(kinds.METHODS), "left": 9, "due_at": "2031-12-24T08:00:00+00:00", "is_first": True}
    details |= {"reason": "nothing_left", "ends_codes": True, "blockers": [{"code": "recovery"}]}
    for kind in kinds.KINDS.values():
        assert "{" not in fill_in(kind.says, kinds.parameters_of(details))
        assert kind.notice is None or "{" not in kinds.text_of(kind.notice, details)


@pytest.mark.parametrize(
    ("kind", "details", "said"),
    [
        ("recovery_code_used", {"left": 0}, "It was the last one"),
        ("recovery_code_used", {"left": 1}, "One more is left"),
        ("recovery_code_used", {"left": 2}, "2 more are left"),
        ("passkey_removed", {"name": "x", "ends_codes": True}, "Your recovery codes were removed as well."),
        ("passkey_removed", {"name": "x", "ends_codes": False}, "to sign in."),
        ("passkey_added", {"name": "x", "is_first": True}, "have been signed out."),
        ("passkey_added", {"name": "x"}, "from now on."),
        *(("recovery_lapsed", {"reason": lapse}, lapse.label) for lapse in AccountRecovery.Lapse),
    ],
)
def test_a_mail_has_the_sentence_of_each_code(kind: str, details: dict[str, Any], said: str) -> None:
    notice = kinds.KINDS[kind].notice
    assert notice is not None
    assert kinds.text_of(notice, details).endswith(said) or said in kinds.text_of(notice, details)


def test_an_unknown_event_of_another_version_is_named_by_its_kind() -> None:
    assert sentence(SecurityEvent(kind="moon_landed", details={"how": "softly"})) == "Moon landed"


def test_an_app_is_listed_once_for_its_scopes(app: RelyingParty, person: Account) -> None:
    app.tokens(scope="openid")
    app.code(scope="openid")
    app.tokens(scope="openid profile")
    connection = consent.find_connection(person, Client.objects.get())
    assert connection is not None
    app.browser.post(f"/account/apps/{connection.pk}/remove")
    told = [(event.kind, event.ip) for event in SecurityEvent.objects.filter(kind__startswith="app").order_by("pk")]
    assert told == [("app_allowed", "127.0.0.1"), ("app_allowed_more", "127.0.0.1"), ("app_removed", "127.0.0.1")]


# --- Sessions ---


def end_button(text: str) -> str:
    """Return where the button leads that ends the one other session of a page."""
    [path] = re.findall(r'action="(/account/sessions/\d+/end)"', text)
    return str(path)


def test_the_current_session_comes_first_and_others_can_be_ended(person: Account) -> None:
    here = sign_in(Browser(headers={"User-Agent": FIREFOX}), person)
    there = sign_in(Browser(headers={"User-Agent": SAFARI}), person)
    third = sign_in(Browser(), person)
    third.post("/account/logout/")
    text = page(here, "/account/sessions/")
    assert text.index("Firefox on Linux") < text.index("This browser") < text.index("Safari on an iPhone")
    assert here.get(end_button(text)).status_code == 405
    assert is_signed_in(there)
    answer = here.post(end_button(text), follow=True)
    assert "Safari on an iPhone is signed out." in answer.content.decode()
    assert not is_signed_in(there)
    assert is_signed_in(here)
    assert "Signed out one browser: Safari on an iPhone" in page(here, "/account/activity/")
    assert there.get("/account/")["Location"].startswith("/account/login/")


def test_ending_a_session_ends_only_that_one(person: Account) -> None:
    here, ended, stays = (sign_in(Browser(), person) for _ in range(3))
    other = sign_in(Browser(), make_account())
    row = UserSession.objects.get(session_key=ended.session.session_key)
    here.post(f"/account/sessions/{row.pk}/end")
    assert [is_signed_in(browser) for browser in (here, ended, stays, other)] == [True, False, True, True]


def test_a_running_request_does_not_restore_an_ended_session(person: Account) -> None:
    here, there = sign_in(Browser(), person), sign_in(Browser(), person)
    session = there.session
    session["late"] = True
    row = UserSession.objects.get(session_key=session.session_key)
    here.post(f"/account/sessions/{row.pk}/end")
    with pytest.raises(UpdateError):
        session.save()
    assert not Session.objects.filter(session_key=row.session_key).exists()


def test_an_ended_session_gets_no_new_key(person: Account) -> None:
    here, there = sign_in(Browser(), person), sign_in(Browser(), person)
    row = UserSession.objects.get(session_key=there.session.session_key)
    renewing = SessionStore(row.session_key)
    assert "_auth_user_id" in renewing  # it has been read
    here.post(f"/account/sessions/{row.pk}/end")
    with pytest.raises(SessionInterrupted):
        renewing.cycle_key()
    assert Session.objects.count() == 1


@pytest.mark.parametrize("whose", ["someone else's", "nobody's", "this one"])
def test_the_current_session_and_sessions_of_others_can_not_be_ended(whose: str, signed_in: Browser) -> None:
    other = sign_in(Browser(), make_account())
    rows = {
        "someone else's": UserSession.objects.get(session_key=other.session.session_key).pk,
        "nobody's": 999_999,
        "this one": UserSession.objects.get(session_key=signed_in.session.session_key).pk,
    }
    assert signed_in.post(f"/account/sessions/{rows[whose]}/end").status_code == 404
    assert is_signed_in(other)
    assert is_signed_in(signed_in)


def test_a_session_that_got_a_new_key_just_now_is_not_said_to_have_ended(person: Account) -> None:
    here, there = sign_in(Browser(), person), sign_in(Browser(), person)
    row = UserSession.objects.get(session_key=there.session.session_key)
    Session.objects.filter(session_key=row.session_key).update(session_key="renewed")
    answer = here.post(f"/account/sessions/{row.pk}/end", follow=True)
    assert "was already signed out. The list shows the remaining browsers." in answer.content.decode()
    assert not SecurityEvent.objects.filter(kind="session_ended").exists()


# --- Last active ---


def seen(browser: Browser) -> Any:
    return UserSession.objects.get(session_key=browser.session.session_key).last_seen_at


def test_when_a_session_was_active_is_stored_once_in_ten_minutes(
    signed_in: Browser, stopped_clock: None, later: Callable[[float], None]
) -> None:
    began = seen(signed_in)
    later(599)
    with Counted() as counted:
        page(signed_in, "/account/")
    assert not [sql for sql in counted.statements if sql.startswith("UPDATE")]
    later(10)
    with Counted() as counted:
        page(signed_in, "/account/")
        page(signed_in, "/account/")
    assert len([sql for sql in counted.statements if sql.startswith("UPDATE")]) == 1
    assert (seen(signed_in) - began).total_seconds() > 600


def test_another_process_changes_nothing_within_ten_minutes(signed_in: Browser) -> None:
    began = seen(signed_in)
    core_sessions._stored_at.clear()
    page(signed_in, "/account/")
    assert seen(signed_in) == began


def test_api_calls_do_not_touch_sessions(app: RelyingParty, later: Callable[[float], None]) -> None:
    token = app.tokens()["access_token"]
    later(700)
    for path in ("/v1/me", "/connect/userinfo"):
        with Counted() as counted:
            app.call(path, token)
        assert not [sql for sql in counted.statements if "session" in sql]


# --- Securing the account ---


def test_signing_out_everywhere_else_returns_to_the_page(signed_in: Browser, person: Account) -> None:
    other = sign_in(Browser(), person)
    UserSession.objects.filter(session_key=other.session.session_key).delete()  # the list may be incomplete
    answer = signed_in.post("/account/secure/")
    assert (answer.status_code, answer["Location"]) == (302, "/account/secure/")
    assert not is_signed_in(other)
    assert is_signed_in(signed_in)
    assert "Signed out all other browsers" in page(signed_in, "/account/activity/")


def secured(browser: Browser, **step: str) -> str:
    """Send a button of the list, and return where it leads."""
    answer = browser.post("/account/secure/", step)
    assert answer.status_code == 302
    return str(answer["Location"])


def done_steps(browser: Browser, query: str = "") -> list[str]:
    steps = page(browser, f"/account/secure/{query}").split('<li class="card card--plain">')[1:]
    return [step.split("<h2>")[1].split("</h2>")[0] for step in steps if "Done</span>" in step]


def test_each_step_returns_to_the_list_and_is_ticked_off(signed_in: Browser) -> None:
    assert done_steps(signed_in) == []
    assert "You are securing your account" not in page(signed_in, "/account/email/")
    assert secured(signed_in, open="email") == "/account/email/"
    assert "This step: <strong>Check your email address</strong>" in page(signed_in, "/account/email/")
    assert secured(signed_in, done="email") == "/account/secure/"
    assert "You are securing your account" not in page(signed_in, "/account/email/")
    assert done_steps(signed_in) == ["Check your email address"]
    assert secured(signed_in) == "/account/secure/"
    for step in ("two_step_off", "apps", "activity", "password"):
        secured(signed_in, done=step)
    assert len(done_steps(signed_in)) == 6
    assert "You have finished all steps." in page(signed_in, "/account/secure/")
    secured(signed_in, again="1")
    assert done_steps(signed_in) == []


def test_a_new_password_is_ticked_off_and_returns_to_the_event(signed_in: Browser, person: Account) -> None:
    event = f"?event={quote(token_of(record(person, 'authenticator_on')), safe='')}"
    answer = signed_in.post(f"/account/secure/{event}", {"open": "password"})
    assert answer["Location"] == "/account/password/change/"
    new = {"oldpassword": PASSWORD, "password1": "another long phrase", "password2": "another long phrase"}
    answer = signed_in.post("/account/password/change/", new)
    assert answer["Location"] == f"/account/secure/{event}"
    assert done_steps(signed_in, event) == ["Change your password"]


def test_a_new_password_outside_the_list_stays_on_its_page(signed_in: Browser) -> None:
    new = {"oldpassword": PASSWORD, "password1": "another long phrase", "password2": "another long phrase"}
    assert signed_in.post("/account/password/change/", new)["Location"] == "/account/password/change/"
    assert done_steps(signed_in) == []


def test_steps_count_for_a_day(signed_in: Browser, later: Callable[[float], None]) -> None:
    secured(signed_in, done="apps")
    later(23 * 3600)
    assert done_steps(signed_in) == ["Check your apps"]
    later(2 * 3600)
    assert done_steps(signed_in) == []


def test_unknown_steps_change_nothing(signed_in: Browser) -> None:
    assert secured(signed_in, open="https://evil.example") == "/account/secure/"
    secured(signed_in, done="x" * 5000)
    assert done_steps(signed_in) == []
    assert "securing" not in signed_in.session


def test_strangers_are_sent_to_sign_in_and_back(client: Browser, person: Account) -> None:
    text = page(client, "/account/secure/")
    assert 'href="/account/login/?next=/account/secure/"' in text
    assert 'href="/account/password/reset/"' in text
    assert client.post("/account/secure/").status_code == 200
    answer = client.post("/account/login/?next=/account/secure/", {"login": person.email, "password": PASSWORD})
    assert answer["Location"] == "/account/secure/"


def test_people_without_a_password_are_sent_to_their_passkeys(person: Account) -> None:
    Account.objects.filter(pk=person.pk).update(password="!none")
    browser = Browser()
    browser.force_login(Account.objects.get(pk=person.pk))
    text = page(browser, "/account/secure/")
    assert "Check your passkeys" in text
    assert secured(browser, open="passkeys") == "/account/2fa/webauthn/"
    assert 'href="/account/password/set/"' in text


def test_a_session_that_just_got_a_new_key_is_neither_ended_nor_reported() -> None:
    there = sign_in(Browser(), make_account())
    listed = UserSession.objects.get(session_key=there.session.session_key)
    listed.data = listed.data | {browser_sessions.TAG: "tag"}
    listed.save()
    renewed = there.session
    renewed.cycle_key()
    told: list[Any] = []

    def note(**kwargs: Any) -> None:
        told.append(kwargs)

    sessions_ended.connect(note)
    try:
        assert not browser_sessions.end_listed_session(listed)
        assert told == []
        assert UserSession.objects.get(pk=listed.pk).session_key == renewed.session_key
        assert browser_sessions.end_listed_session(UserSession.objects.get(pk=listed.pk))
        assert len(told) == 1
    finally:
        sessions_ended.disconnect(note)
