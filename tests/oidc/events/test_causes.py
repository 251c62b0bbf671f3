"""What apps are told: each cause, and each app that must not learn of it."""

import json
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.http import HttpResponse
from django.test import Client as Browser
from django.test import RequestFactory

from accounts.activity.recording import record
from accounts.models import Account
from accounts.sessions.browser_sessions import AuthenticationMiddleware, end_all_sessions, end_everyones_sessions
from core import clock
from core.http.sessions import SessionStore
from oidc.authorization.consent import remove_consent
from oidc.events import registration
from oidc.events.causes import CREDENTIAL_CHANGES
from oidc.models import Client, Connection, Delivery, EventReceiver, ProjectMember
from tests.factories import PASSWORD, make_project
from tests.inbox import Inbox, send_due
from tests.relying_party import RelyingParty, claims_of, sign_in

pytestmark = pytest.mark.django_db


def events() -> list[str]:
    """Return the events that wait, sorted."""
    return sorted(Delivery.objects.values_list("event", flat=True))


def set_password(browser: Browser) -> None:
    form = {"oldpassword": PASSWORD, "password1": "a new Passw0rd!", "password2": "a new Passw0rd!"}
    browser.post("/account/password/change/", form)


def test_signing_out_sends_a_logout_token_and_an_event(listening: RelyingParty, app_inbox: Inbox) -> None:
    id_token = claims_of(listening.tokens()["id_token"])
    listening.browser.post("/connect/logout/confirm", {"decision": "sign-out"})
    assert send_due() == 2
    assert sorted(app_inbox.events) == ["backchannel-logout", "session-revoked"]
    logout = next(each for each in app_inbox.received if each.path == "/logout")
    assert logout.claims["sid"] == id_token["sid"]
    assert logout.claims["sub"] == id_token["sub"]
    assert "nonce" not in logout.claims


def test_a_session_is_reported_once(listening: RelyingParty, person: Account) -> None:
    listening.tokens()
    listening.browser.post("/connect/logout/confirm", {"decision": "sign-out"})
    Delivery.objects.all().delete()
    end_all_sessions(person)
    assert events() == ["sessions-revoked"]


def test_refreshed_tokens_keep_the_session_id(listening: RelyingParty) -> None:
    tokens = listening.tokens()
    refreshed = listening.refresh(tokens["refresh_token"]).json()
    assert claims_of(refreshed["id_token"])["sid"] == claims_of(tokens["id_token"])["sid"]


def test_ending_another_session_leaves_this_one(listening: RelyingParty, person: Account) -> None:
    listening.tokens()
    elsewhere = RelyingParty(listening.client, sign_in(Browser(), person))
    sid = claims_of(elsewhere.tokens()["id_token"])["sid"]
    listening.browser.post("/account/sessions/")
    assert events() == ["logout", "session-revoked"]
    assert set(Delivery.objects.values_list("sid", flat=True)) == {sid}


def test_a_new_password_ends_the_other_sessions(listening: RelyingParty, person: Account) -> None:
    listening.tokens()
    RelyingParty(listening.client, sign_in(Browser(), person)).tokens()
    set_password(listening.browser)
    assert events() == ["credential-change", "logout", "session-revoked"]


def test_a_session_that_had_a_new_password_is_told_when_it_is_ended_from_elsewhere(
    listening: RelyingParty, person: Account
) -> None:
    listening.tokens()
    set_password(listening.browser)
    Delivery.objects.all().delete()
    [row] = UserSession.objects.filter(user=person)
    elsewhere = Browser()
    elsewhere.post("/account/login/", {"login": person.email, "password": "a new Passw0rd!"})
    elsewhere.post(f"/account/sessions/{row.pk}/end")
    assert events() == ["logout", "session-revoked"]


def test_a_page_that_loads_while_its_session_gets_a_new_key_reports_no_end(
    listening: RelyingParty, person: Account, rf: RequestFactory
) -> None:
    listening.tokens()
    page = rf.get("/account/")
    page.session = SessionStore.from_cookie(listening.browser.cookies["openport_session"].value)
    assert page.session["_auth_user_id"] == str(person.pk)  # it has been read
    listening.browser.post("/account/sessions/")
    AuthenticationMiddleware(lambda _: HttpResponse()).process_request(page)
    assert page.user.is_anonymous
    assert listening.browser.get("/account/").status_code == 200
    assert events() == []


def test_closing_reopening_and_deleting_an_account_are_told(listening: RelyingParty, person: Account) -> None:
    listening.tokens()
    person = Account.objects.get(pk=person.pk)
    person.is_active = False
    person.save()
    person.save()  # nothing changes, so nothing is sent
    assert events() == ["account-disabled", "logout", "session-revoked", "sessions-revoked"]
    Delivery.objects.all().delete()
    person.is_active = True
    person.save()
    assert events() == ["account-enabled"]
    Delivery.objects.all().delete()
    person.delete()
    assert events() == ["account-purged"]


def test_removing_an_app_tells_that_app_alone(listening: RelyingParty, web_app: RelyingParty) -> None:
    listening.tokens()
    web_app.tokens()
    remove_consent(Connection.objects.get(client=web_app.client))
    assert events() == []
    remove_consent(Connection.objects.get(client=listening.client))
    assert events() == ["logout", "tokens-revoked"]


def test_an_app_that_was_removed_learns_nothing_more(listening: RelyingParty, person: Account) -> None:
    listening.tokens()
    remove_consent(Connection.objects.get(client=listening.client))
    Delivery.objects.all().delete()
    end_all_sessions(person)
    Account.objects.get(pk=person.pk).delete()
    assert events() == []


def test_ending_everyones_sessions_sends_logout_tokens(listening: RelyingParty) -> None:
    listening.tokens()
    end_everyones_sessions()
    assert events() == ["logout", "session-revoked"]


@pytest.mark.parametrize(
    ("change", "is_member", "learns"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"verified_at": clock.now()}, False, True),
        ({"first_party": True}, False, True),
    ],
)
def test_before_its_review_an_app_learns_nothing_of_changed_credentials(
    listening: RelyingParty, person: Account, change: dict[str, Any], is_member: bool, learns: bool
) -> None:
    listening.tokens()
    Client.objects.update(**change)
    ProjectMember.objects.all().delete()
    ProjectMember.objects.create(project=make_project(), account=person, role="owner")  # of another project
    if is_member:
        ProjectMember.objects.create(project=listening.client.project, account=person, role="viewer")
    record(person, "passkey_added", notify=False)
    assert events() == (["credential-change"] if learns else [])
    Delivery.objects.all().delete()
    end_all_sessions(person)  # which every app learns
    assert events() == ["logout", "session-revoked", "sessions-revoked"]


@pytest.mark.parametrize("kind", sorted(CREDENTIAL_CHANGES))
def test_a_changed_credential_is_told_without_its_name(
    listening: RelyingParty, app_inbox: Inbox, person: Account, kind: str
) -> None:
    listening.tokens()
    record(person, kind, notify=False, name="Ada’s laptop", email="new@example.com")
    send_due()
    told = next(each for each in app_inbox.received if each.event == "credential-change")
    (members,) = told.claims["events"].values()
    credential_type, change_type = CREDENTIAL_CHANGES[kind]
    assert members == {
        "credential_type": credential_type, "change_type": change_type, "event_timestamp": told.claims["toe"]
    }  # fmt: skip


@pytest.mark.parametrize(("scope", "learns"), [("openid", False), ("openid profile", False), ("openid email", True)])
def test_only_apps_with_the_scope_email_learn_of_a_new_email_address(
    listening: RelyingParty, app_inbox: Inbox, person: Account, scope: str, learns: bool
) -> None:
    listening.tokens(scope=scope)
    Account.objects.filter(pk=person.pk).update(email="new@example.com")
    record(person, "address_changed", notify=False, old="ada@example.com", new="new@example.com")
    send_due()
    assert app_inbox.events == (["identifier-changed"] if learns else [])
    assert (b"new@example.com" in b"".join(json.dumps(each.claims).encode() for each in app_inbox.received)) is learns


def test_the_new_email_address_is_left_out_once_the_app_may_not_know_it(
    listening: RelyingParty, app_inbox: Inbox, person: Account
) -> None:
    listening.tokens(scope="openid email")
    record(person, "address_changed", notify=False, old="ada@example.com", new="new@example.com")
    remove_consent(Connection.objects.get())
    send_due()
    told = next(each for each in app_inbox.received if each.event == "identifier-changed")
    assert list(told.claims["events"].values()) == [{}]


def test_apps_get_only_the_types_that_they_want(listening: RelyingParty, person: Account) -> None:
    url = EventReceiver.objects.get(channel="events").url
    registration.change_event_receiver(listening.client, None, url=url, types=["sessions-revoked"])
    listening.tokens()
    record(person, "password_changed", notify=False)
    end_all_sessions(person)
    assert events() == ["logout", "sessions-revoked"]
