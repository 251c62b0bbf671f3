"""Workers, sign-outs and changes at the same moment, on PostgreSQL with separate connections."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.db import connection, transaction
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from accounts.activity.recording import record
from accounts.deletion.deleting import delete_account
from accounts.models import Account
from accounts.sessions.browser_sessions import end_all_sessions, end_sessions_by_key
from core import clock
from core.http.sessions import SessionStore
from core.outbound.fetching import Reply
from oidc.authorization import consent
from oidc.authorization.consent import remove_consent
from oidc.clients import registration as clients
from oidc.events import queueing, registration, sending
from oidc.models import Connection, Delivery, EventReceiver, ProjectMember, TokenFamily
from oidc.projects.roles import lock_for_change
from oidc.signals import receiver_paused
from oidc.tokens import codes, signing_keys
from tests.at_once import SECONDS, at_once, blocked_by, meanwhile
from tests.factories import make_account, make_project, make_web_client
from tests.inbox import send_due
from tests.relying_party import RelyingParty, sign_in

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def party() -> RelyingParty:
    """A web app with receivers of both channels, and a signed-in person, visible to all connections."""
    web, secret = make_web_client(make_project())
    signing_keys.current_keyring()
    registration.change_logout_receiver(web, None, url="http://localhost:1/logout", session_required=True)
    registration.change_event_receiver(web, None, url="http://localhost:1/events", types=[])
    return RelyingParty(web, sign_in(Browser(), make_account("ada@example.com")), secret)


@pytest.fixture
def receiver(party: RelyingParty) -> EventReceiver:
    return EventReceiver.objects.get(client=party.client, channel="events")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The URLs of the requests that apps got; each is accepted after a moment."""
    urls: list[str] = []

    def post(url: str, *args: Any, **options: Any) -> Reply:
        urls.append(url)
        time.sleep(0.05)
        return Reply(202, "")

    monkeypatch.setattr(sending, "post", post)
    return urls


def waiting() -> list[str]:
    return sorted(Delivery.objects.waiting().values_list("event", flat=True))


# --- Two workers ---


def test_of_two_workers_that_claim_a_receiver_one_gets_it(receiver: EventReceiver) -> None:
    queueing.queue_test(receiver)
    assert blocked_by(lambda: sending._claim(receiver.pk), lambda: sending._claim(receiver.pk)) is None


def test_of_two_workers_that_claim_receivers_of_one_project_one_gets_its_receiver(receiver: EventReceiver) -> None:
    logout = EventReceiver.objects.get(client=receiver.client, channel="logout")
    for each in (receiver, logout):
        queueing.queue_test(each)
    assert blocked_by(lambda: sending._claim(receiver.pk), lambda: sending._claim(logout.pk)) is None


def test_many_workers_send_each_delivery_once(receiver: EventReceiver, sent: list[str]) -> None:
    for _ in range(5):
        queueing.queue_test(receiver)
    accepted = at_once(6, lambda number: sending.send_to(receiver.pk))
    assert (sorted(accepted), len(sent)) == ([0, 0, 0, 0, 0, 5], 5)


def test_a_worker_that_lost_its_claim_neither_goes_on_nor_counts_failures(
    receiver: EventReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (queueing.queue_test(receiver) for _ in range(2))
    others = clock.now() + timedelta(seconds=30)

    def post(*args: Any, **options: Any) -> Reply:  # takes so long that another worker claims the receiver meanwhile
        EventReceiver.objects.filter(pk=receiver.pk).update(busy_until=others)
        return Reply(500, "")

    monkeypatch.setattr(sending, "post", post)
    assert sending.send_to(receiver.pk) == 0
    row = EventReceiver.objects.get(pk=receiver.pk)
    assert (row.busy_until, row.failures, row.retry_at) == (others, 0, None)
    assert [len(Delivery.objects.get(pk=each.pk).tries) for each in (first, second)] == [1, 0]


def test_a_late_failure_does_not_undo_what_another_worker_delivered(
    receiver: EventReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = queueing.queue_test(receiver)

    def post(*args: Any, **options: Any) -> Reply:
        Delivery.objects.filter(pk=delivery.pk).update(state="delivered", delivered_at=clock.now())
        return Reply(500, "")

    monkeypatch.setattr(sending, "post", post)
    sending.send_to(receiver.pk)
    row = Delivery.objects.get(pk=delivery.pk)
    assert (row.state, row.attempts) == ("delivered", 0)


def test_a_claim_of_a_dead_worker_ends(receiver: EventReceiver, sent: list[str]) -> None:
    queueing.queue_test(receiver)
    assert sending._claim(receiver.pk)
    assert (send_due(), sent) == (0, [])
    EventReceiver.objects.update(busy_until=clock.now() - timedelta(seconds=1))
    assert (send_due(), len(sent)) == (1, 1)


# --- Two sign-outs ---


def ends_of_one_session(party: RelyingParty) -> list[Callable[[], Any]]:
    """Return all ways to end the one session of the person of `party`."""
    person, key = Account.objects.get(email="ada@example.com"), UserSession.objects.get().session_key
    return [
        lambda: SessionStore(key).flush(),
        lambda: end_sessions_by_key([key]),
        lambda: end_all_sessions(person),
        lambda: remove_consent(Connection.objects.get(client=party.client)),
    ]


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("second", range(4))
def test_a_session_that_is_ended_twice_at_once_is_reported_once(party: RelyingParty, first: int, second: int) -> None:
    party.tokens()
    ways = ends_of_one_session(party)
    blocked_by(ways[first], ways[second])
    assert waiting().count("logout") == 1
    assert not TokenFamily.objects.exclude(session_tag="").exists()


def test_a_sign_out_that_is_rolled_back_tells_nobody(party: RelyingParty, sent: list[str]) -> None:
    party.tokens()
    with transaction.atomic():
        ends_of_one_session(party)[0]()
        transaction.set_rollback(True)
    assert (waiting(), send_due()) == ([], 0)
    ends_of_one_session(party)[0]()
    assert waiting() == ["logout", "session-revoked"]


# --- A code that is issued in a session that ends ---


def issue(party: RelyingParty) -> Any:
    return party.authorize(prompt="none")


def test_a_code_is_not_issued_in_a_session_that_has_just_ended(
    party: RelyingParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    party.tokens()
    party.browser.raise_request_exception = False
    flush = ends_of_one_session(party)[0]
    families = TokenFamily.objects.count()
    real = consent.require_consent

    def ends_before(*args: Any) -> Connection:
        at_once(1, lambda number: flush())
        connection: Connection = real(*args)
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(consent, "require_consent", ends_before)
        assert issue(party).status_code == 400
    assert TokenFamily.objects.count() == families
    assert waiting() == ["logout", "session-revoked"]


def test_a_sign_out_waits_for_a_code_that_is_being_issued(party: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> None:
    party.tokens()
    sid = TokenFamily.objects.get().sid
    TokenFamily.objects.update(session_tag="", sid="told earlier")
    real = codes.create_code
    with meanwhile(ends_of_one_session(party)[0]) as begin, monkeypatch.context() as patch:

        def ends_meanwhile(*args: Any, **options: Any) -> Any:
            begin()
            return real(*args, **options)

        patch.setattr(codes, "create_code", ends_meanwhile)
        issue(party)
    assert waiting() == ["logout", "session-revoked"]
    assert {row.sid for row in Delivery.objects.all()} == {sid}


def test_apps_without_receivers_pay_nothing_for_it(party: RelyingParty) -> None:
    party.tokens()
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as captured:
            assert issue(party).status_code == 302
        locks = [query["sql"] for query in captured if "django_session" in query["sql"] and "FOR NO" in query["sql"]]
        counts.append(len(locks))
        EventReceiver.objects.update(url="")
    assert counts == [1, 0]


# --- Changes while deliveries are sent ---


def test_what_is_deleted_while_it_is_sent_stays_deleted(
    party: RelyingParty, receiver: EventReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    party.tokens()
    person = Account.objects.get(email="ada@example.com")
    sends, goes_on = threading.Event(), threading.Event()

    def post(*args: Any, **options: Any) -> Reply:
        sends.set()
        assert goes_on.wait(SECONDS)
        return Reply(500, "")

    monkeypatch.setattr(sending, "post", post)
    queueing.queue_test(receiver)

    def act(number: int) -> None:
        if number == 0:
            sending.send_to(receiver.pk)
            return
        assert sends.wait(SECONDS)
        person.delete()
        clients.delete_client(party.client, party.client.project.members.get().account)
        goes_on.set()

    at_once(2, act)
    assert not Delivery.objects.exists()
    assert not EventReceiver.objects.exists()


@pytest.mark.parametrize("code", [202, 400])
def test_a_response_that_arrives_while_an_account_is_deleted_is_not_kept(
    party: RelyingParty, receiver: EventReceiver, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    party.tokens()
    person = Account.objects.get(email="ada@example.com")
    ProjectMember.objects.create(project=party.client.project, account=person, role="viewer")
    record(person, "password_changed")
    monkeypatch.setattr(sending, "post", lambda *args, **options: Reply(code, "Changed ada@example.com"))
    blocked_by(person.delete, lambda: sending.send_to(receiver.pk))
    assert Delivery.objects.get(event="credential-change").tries[0]["status"] == code
    assert not Delivery.objects.exclude(answer="").exists()


def test_resuming_and_a_failure_at_once_do_not_block_each_other(
    party: RelyingParty, receiver: EventReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = party.client.project.members.get().account
    monkeypatch.setattr(sending, "post", lambda *args, **options: Reply(500, ""))
    delivery = queueing.queue_test(receiver)
    acts: list[Callable[[], Any]] = [
        lambda: sending.send_to(receiver.pk),
        lambda: registration.resume(receiver, owner),
        lambda: registration.send_again(delivery, owner),
        lambda: registration.send_failed_again(receiver, owner),
    ]
    for _ in range(15):
        EventReceiver.objects.update(retry_at=None)
        at_once(len(acts), lambda number: acts[number]())


# --- A client that is deleted ---


def test_an_event_about_a_client_that_is_being_deleted_does_not_fail_its_cause(party: RelyingParty) -> None:
    party.tokens()
    person = Account.objects.get(email="ada@example.com")
    ProjectMember.objects.create(project=party.client.project, account=person, role="viewer")
    blocked_by(lambda: clients.delete_client(party.client, person), lambda: record(person, "password_changed"))
    assert person.security_events.filter(kind="password_changed").exists()
    assert not Delivery.objects.exists()


def test_a_client_is_deleted_while_a_failed_try_is_stored(
    party: RelyingParty, receiver: EventReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Account.objects.get(email="ada@example.com")
    queueing.queue_test(receiver)
    monkeypatch.setattr(sending, "post", lambda *args, **options: Reply(500, ""))
    lock = sending._lock_as_tried
    with meanwhile(lambda: clients.delete_client(party.client, person)) as begin:

        def lock_first(tried: EventReceiver) -> EventReceiver | None:
            row = lock(tried)
            assert begin(), "the deletion waits"
            return row

        monkeypatch.setattr(sending, "_lock_as_tried", lock_first)
        sending.send_to(receiver.pk)
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("what", ["app", "account"])
def test_a_deletion_while_a_receiver_is_paused_is_no_deadlock(
    party: RelyingParty, receiver: EventReceiver, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The notices about the pause refer to the app, and to the members of its project."""
    party.tokens()
    person, project = Account.objects.get(email="ada@example.com"), party.client.project
    ProjectMember.objects.create(project=project, account=person, role=ProjectMember.Role.DEVELOPER)
    record(person, "password_changed")
    since = clock.now() - timedelta(days=2)
    EventReceiver.objects.filter(pk=receiver.pk).update(failures=20, failing_since=since)
    monkeypatch.setattr(sending, "post", lambda *args, **options: Reply(500, ""))

    def delete() -> None:
        if what == "account":
            delete_account(person)
        else:
            with lock_for_change(project, person, ProjectMember.Role.DEVELOPER):
                clients.delete_client(party.client, person)

    with meanwhile(delete) as begin:
        receiver_paused.connect(begin)
        try:
            sending.send_to(receiver.pk)
        finally:
            receiver_paused.disconnect(begin)
    assert EventReceiver.objects.filter(pk=receiver.pk).exists() == (what == "account")
    assert Account.objects.filter(pk=person.pk).exists() == (what == "app")
