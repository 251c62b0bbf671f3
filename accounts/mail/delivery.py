"""Sends the mails that wait in the outbox (accounts/mail/outbox.py).

Each mail is sent once, however many workers try at the same time. One exception: if a process dies, or the connection
ends, after the mail server accepted a mail and before the row says so, the mail is sent again, with the same
Message-ID.
"""

import contextlib
import logging
import time
from collections.abc import Iterator
from concurrent.futures import Future
from datetime import timedelta
from functools import partial
from smtplib import SMTPDataError, SMTPRecipientsRefused, SMTPSenderRefused
from threading import Thread, current_thread
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.core.mail import get_connection
from django.db import connections

from accounts.models import Outbox
from core import clock
from core.telemetry import metrics

log = logging.getLogger(__name__)

BATCH = 100
RUN_SECONDS = 45  # of one run of the periodic task, whose limits stand in accounts/tasks.py
# A request of the embedded environment waits so long for the mail that it causes: with a password that is hashed, and
# all else, it is answered within two seconds.
INLINE_SECONDS = 1.0
# After the mail server was found unavailable this process leaves new mails to the periodic task for so long.
PAUSE_SECONDS = 10.0
# SMTP errors that concern one mail only; the server accepts others.
_REFUSALS = (SMTPRecipientsRefused, SMTPSenderRefused, SMTPDataError)
_CLOSING = 421  # RFC 5321 4.2.3: the service ends the connection, whatever the mail

_paused_until = 0.0


class MailServerUnavailable(Exception):
    """The mail server can't be reached, so that no other mail could be sent either."""


def resume() -> None:
    """Forget that the mail server was unavailable a moment ago."""
    global _paused_until
    _paused_until = 0.0


def _pause() -> None:
    global _paused_until
    _paused_until = time.monotonic() + PAUSE_SECONDS


def _is_paused() -> bool:
    return time.monotonic() < _paused_until


@contextlib.contextmanager
def _mail_server() -> Iterator[Any]:
    """Yield the connection to the mail server for one run, opened by the first mail; errors at closing are ignored."""
    server = get_connection()
    try:
        yield server
    finally:
        with contextlib.suppress(OSError):
            server.close()


def send_queued(pk: int) -> bool:
    """Send one mail if it still waits; return whether it was sent. Call it outside of a transaction."""
    row = None if _is_paused() else Outbox.objects.due().filter(pk=pk).first()
    if row is None or not row.claim():
        return False
    with _mail_server() as server, contextlib.suppress(MailServerUnavailable):
        return _note(row, _converse(row, server))
    return False


def send_inline(pk: int) -> None:
    """Send one mail, and wait INLINE_SECONDS at most: what takes longer goes on without the request."""
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
        log.warning("Mail %d goes on without its request: the mail server is slow.", row.pk)
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
    """Send the mails that are due, at most `limit`; return how many were sent. Safe to run concurrently.

    A mail server that is down is asked once a run: the mail that found out waits for longer, the others stay due.
    """
    sent = 0
    Outbox.objects.expire()
    until = time.monotonic() + RUN_SECONDS
    with _mail_server() as server:
        for row in Outbox.objects.next_due(limit):
            if time.monotonic() > until:
                break
            if not row.claim():  # another worker has
                continue
            try:
                sent += _note(row, _converse(row, server))
            except MailServerUnavailable:
                break
    return sent


def _converse(row: Outbox, server: Any) -> Exception | None:
    """Hand a claimed mail to the mail server; return the error if it was not taken. Touches no database."""
    try:
        server.open()
        if not server.send_messages([row.message()]):
            raise OSError("the mail backend sent nothing")
    except Exception as error:  # noqa: BLE001  (_note tells them apart)
        return error
    return None


def _note(row: Outbox, error: Exception | None) -> bool:
    """Store what came of a mail; return whether it was sent. Raises MailServerUnavailable."""
    if error is None:
        metrics.mail_tried("sent")
        resume()
        row.note_sent()
        return True
    if isinstance(error, _REFUSALS) and _CLOSING not in _codes(error):
        metrics.mail_tried("refused")
        _failed(row, error)
    elif isinstance(error, OSError | SoftTimeLimitExceeded):  # SMTPException and timeouts are among them
        metrics.mail_tried("unreachable")
        _pause()
        _failed(row, error)
        raise MailServerUnavailable from error
    else:  # a mail that can't be put together must not hold up the others
        metrics.mail_tried("broken")
        log.error("Mail %d can't be sent as it is.", row.pk, exc_info=error)
        row.note_failure(error)
    return False


def _codes(error: Exception) -> list[int]:
    """Return the reply codes of a refusal (RFC 5321 4.2)."""
    if isinstance(error, SMTPRecipientsRefused):
        return [code for code, _ in error.recipients.values()]
    return [getattr(error, "smtp_code", 0)]


def _failed(row: Outbox, error: Exception) -> None:
    # The server's words may hold the address; they stand in the row.
    log.warning("Mail %d was not sent at attempt %d: %s.", row.pk, row.attempts, type(error).__name__)
    # RFC 5321 4.2.1: after a 5xx the same should not be tried again.
    row.note_failure(error, is_final=isinstance(error, _REFUSALS) and min(_codes(error)) >= 500)


def clear_old_mail() -> int:
    """Delete mails that were sent or given up, OUTBOX_DAYS after they were queued; return how many were deleted."""
    old = Outbox.objects.filter(created_at__lt=clock.now() - timedelta(days=settings.OUTBOX_DAYS))
    gone = 0
    while batch := list(old.exclude(sent_at=None, given_up_at=None).values_list("pk", flat=True)[:1000]):
        Outbox.objects.filter(pk__in=batch).delete()
        gone += len(batch)
    return gone
