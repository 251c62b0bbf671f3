"""Mail that is queued with what causes it: sent once, after the commit, however often the mail server fails."""

import smtplib
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.mail.backends.locmem import EmailBackend
from django.core.mail.message import EmailMessage
from django.db import transaction

from accounts.mail import delivery, outbox
from accounts.mail.rendering import Mail
from accounts.models import Outbox
from accounts.tasks import clear_outbox, send_mail, send_waiting_mail
from core import clock, tasks
from devportal.celery import app as celery
from oidc.events.tasks import send_deliveries

pytestmark = pytest.mark.django_db
Mover = Callable[[float], None]
Captured = Any
HOUR, DAY = 3600, 24 * 3600


def queue(to: str = "ada@example.com", organization: str = "Acme") -> Outbox:
    context = {"organization": organization, "email": to, "days": 7}
    return outbox.queue_mail(to, "organization_invitation", context)


class MailServer(EmailBackend):
    """A mail server that fails as it is told to, and keeps what it takes."""

    error: Exception | None = None
    connections = 0
    tried = 0

    def open(self) -> bool:
        type(self).connections += 1
        return True

    def send_messages(self, messages: Any) -> int:
        type(self).tried += 1
        if self.error is not None:
            raise self.error
        return super().send_messages(messages)


# --- What is queued ---


def test_a_mail_is_rendered_from_its_templates(settings: Any) -> None:
    settings.AUTH_URL = "https://id.example.com"
    row = queue(organization="Acme & Sons")
    assert (row.to, row.subject) == ("ada@example.com", "[Openport] An invitation to Acme & Sons")
    assert "https://id.example.com/account/plan" in row.body
    assert "Acme & Sons offers you a seat" in row.body
    assert row.body.endswith("--\nOpenport\n")
    assert row.message_id.endswith("@id.example.com>")


def test_it_is_sent_once_the_transaction_is_committed(django_capture_on_commit_callbacks: Captured) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        row = queue()
        assert not mail.outbox
    assert [message.to for message in mail.outbox] == [["ada@example.com"]]
    assert mail.outbox[0].extra_headers["Message-ID"] == row.message_id
    row.refresh_from_db()
    assert row.sent_at is not None
    assert delivery.send_due() == 0


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_transaction_sends_nothing() -> None:
    def change_of_mind() -> None:
        with transaction.atomic():
            queue()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_of_mind()
    assert not Outbox.objects.exists()
    assert send_waiting_mail() == 0
    assert not mail.outbox


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ada",
        "ada@example.com\nBcc: eve@example.com",
        "a@b\r\n.example",
        "a\x00@b.example",
        "a@b.example, c@d.example",
    ],
)
def test_an_invalid_email_address_is_not_queued(address: str) -> None:
    with pytest.raises(ValidationError):
        queue(address)
    assert not Outbox.objects.exists()


@pytest.mark.parametrize(
    "hostile",
    [
        "Acme\r\nBcc: eve@example.com",
        "Acme\nBcc: eve@example.com\n\nHello",
        "Acme\x00\x0b\x0c\x1c\x85\u2028\u2029Bcc: eve@example.com",
        "\ud800Bcc: eve@example.com",
        "Acme" * 400,
        "=?utf-8?q?=0ABcc:_eve@example.com?=",
    ],
)
def test_no_context_adds_a_header(hostile: str, django_capture_on_commit_callbacks: Captured) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        queue(organization=hostile)
    (message,) = mail.outbox
    headers = message.message()
    assert headers["Bcc"] is None
    assert message.recipients() == ["ada@example.com"]
    assert "\n" not in message.subject
    assert len(message.subject) <= 200
    assert "\x00" not in headers.as_string()


# --- The mail server ---


def test_a_mail_server_that_is_down_loses_nothing(server: type[MailServer], later: Mover) -> None:
    rows = [queue(f"{number}@example.com") for number in range(3)]
    server.error = ConnectionRefusedError("nobody there")
    assert delivery.send_due() == 0
    # The first email found out; the others were not even tried.
    assert server.tried == 1
    assert sorted(Outbox.objects.values_list("attempts", flat=True)) == [0, 0, 1]
    failed = Outbox.objects.get(attempts=1)
    assert failed.last_error == "ConnectionRefusedError: nobody there"
    server.error = None
    later(31)
    assert delivery.send_due() == 3
    assert sorted(message.to[0] for message in mail.outbox) == [row.to for row in rows]
    assert not Outbox.objects.waiting().exists()


def test_pauses_grow_up_to_an_hour_and_a_day_of_outage_is_survived(server: type[MailServer], later: Mover) -> None:
    row = queue()
    server.error = TimeoutError("no answer")
    waited = []
    for _ in range(12):
        delivery.send_due()
        before = Outbox.objects.get().attempts
        seconds = 0
        while Outbox.objects.get().attempts == before:
            later(30)
            seconds += 30
            delivery.send_due()
        waited.append(seconds)
    assert waited[:4] == [30, 60, 120, 240]
    assert waited[-1] == HOUR
    server.error = None
    later(DAY)
    assert delivery.send_due() == 1
    assert mail.outbox[0].extra_headers["Message-ID"] == row.message_id


def test_after_three_days_it_is_given_up_and_says_why(server: type[MailServer], later: Mover) -> None:
    row = queue()
    server.error = smtplib.SMTPRecipientsRefused({"ada@example.com": (550, b"no such\x00 mailbox")})
    later(3 * DAY - 60)
    delivery.send_due()
    assert Outbox.objects.waiting().exists()
    later(HOUR)
    delivery.send_due()
    given_up = Outbox.objects.exclude(given_up_at=None).get()
    assert "no such" in given_up.last_error
    server.error = None
    later(DAY)
    assert delivery.send_due() == 0
    assert delivery.send_queued(row.pk) is False


def test_an_operator_has_it_tried_again(server: type[MailServer], later: Mover) -> None:
    row = queue()
    server.error = ConnectionRefusedError("nobody there")
    later(4 * DAY)
    delivery.send_due()
    assert Outbox.objects.exclude(given_up_at=None).exists()
    server.error = None
    assert row.try_again() is True
    assert delivery.send_due() == 1
    assert row.try_again() is False


def test_a_mail_that_is_being_sent_is_not_sent_again(server: type[MailServer]) -> None:
    row = queue()
    server.error = ConnectionRefusedError("nobody there")
    delivery.send_due()
    assert row.try_again() is True

    def slowly(self: MailServer, messages: list[EmailMessage]) -> int:
        assert row.try_again() is False
        assert delivery.send_due() == 0
        return EmailBackend.send_messages(self, messages)

    server.send_messages = slowly  # type: ignore[method-assign]
    assert delivery.send_due() == 1
    assert len(mail.outbox) == 1


@pytest.mark.parametrize(("why", "error"), [("refused", "SMTPRecipientsRefused"), ("broken", "BadHeaderError")])
def test_a_mail_that_cant_be_sent_does_not_hold_up_the_others(why: str, error: str, server: type[MailServer]) -> None:
    first, second = queue("1@example.com"), queue("2@example.com")
    if why == "broken":
        Outbox.objects.filter(pk=first.pk).update(subject="two\nlines")

    def send(self: MailServer, messages: list[EmailMessage]) -> int:
        messages[0].message()
        if why == "refused" and messages[0].to == [first.to]:
            raise smtplib.SMTPRecipientsRefused({first.to: (550, b"no")})
        return EmailBackend.send_messages(self, messages)

    server.send_messages = send  # type: ignore[method-assign]
    assert delivery.send_due() == 1
    assert mail.outbox[0].to == [second.to]
    failed = Outbox.objects.get(pk=first.pk)
    assert failed.attempts == 1
    assert error in failed.last_error


def test_codes_for_which_the_server_hangs_do_not_hold_up_the_others(
    server: type[MailServer], monkeypatch: pytest.MonkeyPatch, later: Mover
) -> None:
    def send(self: MailServer, messages: Any) -> int:
        if messages[0].to[0].startswith("slow"):
            raise TimeoutError
        return EmailBackend.send_messages(self, messages)

    monkeypatch.setattr(server, "send_messages", send)
    later(0)
    code = Mail("Your code", "Your code is ABC", "")
    for number in range(3):
        outbox.store_mail(f"slow{number}@example.com", code, expires_at=clock.from_now(900))
    queue("ada@example.com")
    for _ in range(12):  # two minutes
        send_waiting_mail()
        later(10)
    assert [message.to for message in mail.outbox] == [["ada@example.com"]]


def test_a_failing_quit_changes_nothing(server: type[MailServer]) -> None:
    def close(self: MailServer) -> None:
        raise smtplib.SMTPServerDisconnected("gone")

    server.close = close  # type: ignore[method-assign,assignment]
    queue()
    assert delivery.send_due() == 1
    assert not Outbox.objects.waiting().exists()


def test_many_mails_share_a_connection_and_a_run_has_an_end(server: type[MailServer]) -> None:
    for number in range(5):
        queue(f"{number}@example.com")
    assert delivery.send_due(limit=3) == 3
    assert delivery.send_due(limit=3) == 2


# --- Processes that die, brokers that are gone ---


class Killed(BaseException):
    pass


def test_another_sender_takes_over_a_mail_after_a_crash(
    server: type[MailServer], later: Mover, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue()
    server.error = Killed()  # type: ignore[assignment]
    with pytest.raises(Killed):
        delivery.send_due()
    server.error = None
    assert delivery.send_due() == 0  # its claim stands
    later(2 * 60)
    assert delivery.send_due() == 1
    assert len(mail.outbox) == 1


def test_a_sender_that_died_after_the_server_answered_sends_the_same_mail_again(
    server: type[MailServer], later: Mover, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue()

    def die(row: Outbox) -> None:
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr(Outbox, "note_sent", die)
        with pytest.raises(Killed):
            delivery.send_due()
    later(2 * 60)
    assert delivery.send_due() == 1
    first, second = mail.outbox
    assert first.extra_headers["Message-ID"] == second.extra_headers["Message-ID"]
    assert (first.subject, first.body) == (second.subject, second.body)
    later(DAY)
    assert delivery.send_due() == 0


@pytest.mark.usefixtures("task_threads")
def test_without_a_broker_nothing_fails_and_nothing_is_lost(
    django_capture_on_commit_callbacks: Captured, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CELERY_TASK_ALWAYS_EAGER = False
    monkeypatch.setitem(celery.conf, "task_always_eager", False)
    monkeypatch.setitem(celery.conf, "broker_url", "redis://127.0.0.1:1/0")
    monkeypatch.setitem(celery.conf, "broker_write_url", "redis://127.0.0.1:1/0")
    with django_capture_on_commit_callbacks(execute=True) as callbacks:
        queue()
    assert callbacks
    tasks._waiting.join()
    assert not mail.outbox
    assert send_waiting_mail() == 1


@pytest.mark.usefixtures("task_threads")
def test_the_queue_contains_only_the_key_of_a_mail(
    django_capture_on_commit_callbacks: Captured, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CELERY_TASK_ALWAYS_EAGER = False
    sent: list[Any] = []
    monkeypatch.setattr(send_mail, "apply_async", lambda *args, **options: sent.append((args, options)))
    with django_capture_on_commit_callbacks(execute=True):
        row = queue()
    tasks._waiting.join()
    assert sent == [(((row.pk,),), {"retry": False})]


@pytest.mark.usefixtures("task_threads")
def test_nobody_waits_for_a_broker_that_does_not_answer(
    django_capture_on_commit_callbacks: Captured, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CELERY_TASK_ALWAYS_EAGER = False
    answered = threading.Event()
    monkeypatch.setattr(send_mail, "apply_async", lambda *args, **options: answered.wait(5))
    began = time.monotonic()
    with django_capture_on_commit_callbacks(execute=True):
        for number in range(3):
            queue(f"{number}@example.com")
    assert time.monotonic() - began < 1
    answered.set()
    tasks._waiting.join()


def test_mail_and_events_have_separate_queues_that_a_plain_worker_also_reads() -> None:
    for task in (send_mail, send_waiting_mail):
        route = celery.amqp.router.route({}, task.name)
        assert route["queue"].name == "mail"
    assert celery.amqp.router.route({}, send_deliveries.name)["queue"].name == "events"
    assert celery.amqp.router.route({}, clear_outbox.name).get("queue", celery.amqp.default_queue).name == "celery"
    assert {(queue.name, queue.routing_key) for queue in celery.amqp.queues.consume_from.values()} == {
        ("celery", "celery"),
        ("mail", "mail"),
        ("events", "events"),
    }


def test_a_task_that_comes_twice_sends_once() -> None:
    row = queue()
    assert send_mail(row.pk) is True
    assert send_mail(row.pk) is False
    assert len(mail.outbox) == 1


def test_a_new_mail_is_sent_immediately_though_its_server_clock_is_ahead(later: Mover) -> None:
    later(300)
    row = queue()
    later(-300)
    assert delivery.send_queued(row.pk) is True


# --- What is kept ---


def test_sent_and_failed_mails_are_deleted_after_thirty_days(later: Mover) -> None:
    sent, given_up, waiting = queue(), queue(), queue()
    sent.note_sent()
    Outbox.objects.filter(pk=given_up.pk).update(given_up_at=given_up.created_at)
    later(29 * DAY)
    assert clear_outbox() == 0
    later(2 * DAY)
    assert clear_outbox() == 2
    assert Outbox.objects.get() == waiting
