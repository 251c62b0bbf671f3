"""Sends the emails that wait in the outbox (accounts/mail/outbox.py).

Each email is sent once, however many workers try at the same time. There is one exception: if a process dies or the
connection ends after the mail server accepted an email, but before the row is updated, the email is sent again with the
same Message-ID.
"""

import contextlib
import logging
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from datetime import timedelta
from functools import partial, reduce
from operator import or_
from smtplib import SMTPDataError, SMTPRecipientsRefused, SMTPSenderRefused
from threading import Thread, current_thread
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.core.mail import get_connection
from django.db import connections
from django.db.models import Exists, OuterRef, Q

from accounts.models import Outbox
from core import clock
from core.telemetry import metrics

log = logging.getLogger(__name__)

BATCH = 100
RUN_SECONDS = 45  # of one run of the periodic task, whose limits are in accounts/tasks.py
# The longest time that a request of the embedded environment waits for its mail. With password hashing and everything
# else, the response then takes less than two seconds.
INLINE_SECONDS = 1.0
# After the mail server was unavailable, this process leaves new emails to the periodic task for this long.
PAUSE_SECONDS = 10.0
DELAY = timedelta(minutes=1)  # an email with a code usually arrives in less
# SMTP errors that concern one email only; the server accepts other emails.
_REFUSALS = (SMTPRecipientsRefused, SMTPSenderRefused, SMTPDataError)
_CLOSING = 421  # RFC 5321 4.2.3: the server closes the connection, whatever the email

_paused_until = 0.0


class MailServerUnavailable(Exception):
    """The mail server can't be reached, so no other mail could be sent either."""


def resume() -> None:
    """Clear the pause after the mail server was unavailable."""
    global _paused_until
    _paused_until = 0.0


def _pause() -> None:
    global _paused_until
    _paused_until = time.monotonic() + PAUSE_SECONDS


def _is_paused() -> bool:
    return time.monotonic() < _paused_until


@contextlib.contextmanager
def _mail_server() -> Iterator[Any]:
    """Yield the connection to the mail server for one run, opened by the first email; errors at closing are ignored."""
    server = get_connection()
    try:
        yield server
    finally:
        with contextlib.suppress(OSError):
            server.close()


def send_queued(pk: int) -> bool:
    """Send one email if it still waits; return whether it was sent. Call this outside of a transaction."""
    row = None if _is_paused() else Outbox.objects.due().filter(pk=pk).first()
    if row is None or not row.claim():
        return False
    with _mail_server() as server, contextlib.suppress(MailServerUnavailable):
        return _note(row, _converse(row, server))
    return False


def send_inline(pk: int) -> None:
    """Send one email, and wait at most INLINE_SECONDS; after that, sending continues without the request."""
    row = None if _is_paused() else Outbox.objects.due().filter(pk=pk).first()
    if row is None or not row.claim():
        return
    outcome: Future[Exception | None] = Future()

    def converse() -> None:
        with _mail_server() as server:
            outcome.set_result(_converse(row, server))

    conversation = Thread(target=converse, daemon=True, name="mail")
    conversation.start()
    try:
        error = outcome.result(timeout=INLINE_SECONDS)
    except TimeoutError:
        log.warning("The mail server is slow. Mail %d is sent in the background.", row.pk)
        _pause()
        outcome.add_done_callback(partial(_note_late, row, conversation))
    else:
        with contextlib.suppress(MailServerUnavailable):
            _note(row, error)


def _note_late(row: Outbox, conversation: Thread, outcome: "Future[Exception | None]") -> None:
    try:
        with contextlib.suppress(MailServerUnavailable):
            _note(row, outcome.result())
    finally:
        if current_thread() is conversation:
            connections.close_all()


def send_due(limit: int = BATCH) -> int:
    """Send the emails that are due, at most `limit`; return how many were sent. Safe to run concurrently.

    A mail server that is down is tried twice per run: with an email that expires, and with another one. So mails that
    expire, which strangers cause, can't hold up the others if the server only hangs for their recipients.
    """
    Outbox.objects.expire()
    until = time.monotonic() + RUN_SECONDS
    return sum(_send_each(rows, until) for rows in Outbox.objects.next_due(limit))


def _send_each(rows: Iterable[Outbox], until: float) -> int:
    """Send emails until the server is unavailable, or the time `until` is over; return how many were sent.

    The email that failed waits for longer, the others stay due.
    """
    sent = 0
    with _mail_server() as server:
        for row in rows:
            if time.monotonic() > until:
                break
            if not row.claim():  # another worker has claimed it
                continue
            try:
                sent += _note(row, _converse(row, server))
            except MailServerUnavailable:
                break
    return sent


def _converse(row: Outbox, server: Any) -> Exception | None:
    """Send a claimed mail to the mail server; return the error if it was not accepted. Uses no database."""
    try:
        server.open()
        if not server.send_messages([row.message()]):
            raise OSError("the mail backend sent nothing")
    except Exception as error:  # noqa: BLE001  (_note tells them apart)
        return error
    return None


def _note(row: Outbox, error: Exception | None) -> bool:
    """Store the result for an email; return whether it was sent. Raises MailServerUnavailable."""
    if error is None:
        metrics.MAILS.count("sent")
        resume()
        row.note_sent()
        return True
    if isinstance(error, _REFUSALS) and _CLOSING not in _codes(error):
        metrics.MAILS.count("refused")
        _failed(row, error)
    elif isinstance(error, OSError | SoftTimeLimitExceeded):  # includes SMTPException and time-outs
        metrics.MAILS.count("unreachable")
        _pause()
        _failed(row, error)
        raise MailServerUnavailable from error
    else:  # an email that can't be built must not stop the others
        metrics.MAILS.count("broken")
        log.error("Mail %d can't be built.", row.pk, exc_info=error)
        row.note_failure(error)
    return False


def _codes(error: Exception) -> list[int]:
    """Return the SMTP reply codes of a rejection (RFC 5321 4.2)."""
    if isinstance(error, SMTPRecipientsRefused):
        return [code for code, _ in error.recipients.values()]
    return [getattr(error, "smtp_code", 0)]


def _failed(row: Outbox, error: Exception) -> None:
    # The server's message may contain the email address, so it is only stored in the row.
    log.warning("Mail %d was not sent at attempt %d: %s.", row.pk, row.attempts, type(error).__name__)
    # RFC 5321 4.2.1: after a 5xx reply, the same email should not be sent again.
    row.note_failure(error, is_final=isinstance(error, _REFUSALS) and min(_codes(error)) >= 500)


def was_refused() -> Q:
    """Return the condition of emails that the mail server refused at their last attempt.

    `Outbox.note_failure` stores the name of the exception first.
    """
    return reduce(or_, (Q(last_error__startswith=f"{error.__name__}:") for error in _REFUSALS))


def codes_are_delayed() -> bool:
    """Return whether a valid code has not been sent within DELAY, and neither has any later mail.

    This says nothing about one mailbox. Replaced mails count as well: an email address without an account gets another
    mail when its code is asked for again, one with an account does not.
    """
    now = clock.now()
    valid = timedelta(seconds=settings.ACCOUNT_EMAIL_VERIFICATION_BY_CODE_TIMEOUT)
    codes = Outbox.objects.filter(sent_at=None, expires_at__gt=now, created_at__range=(now - valid, now - DELAY))
    sent_since = Outbox.objects.filter(created_at__gt=OuterRef("created_at"), sent_at__isnull=False)
    return codes.exclude(was_refused()).filter(~Exists(sent_since)).exists()


def clear_old_mail() -> int:
    """Delete mails that were sent or given up, OUTBOX_DAYS after they were queued; return how many were deleted."""
    old = Outbox.objects.filter(created_at__lt=clock.now() - timedelta(days=settings.OUTBOX_DAYS))
    gone = 0
    while batch := list(old.exclude(sent_at=None, given_up_at=None).values_list("pk", flat=True)[:1000]):
        Outbox.objects.filter(pk__in=batch).delete()
        gone += len(batch)
    return gone
