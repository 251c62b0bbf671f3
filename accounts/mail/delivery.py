"""Sends the mails that wait in the outbox (accounts/mail/outbox.py).

Each mail is sent once, however many workers try at the same time. One exception: if a process dies after the mail
server accepted a mail and before the row says so, the mail is sent again, with the same Message-ID.
"""

import contextlib
import logging
from collections.abc import Iterator
from datetime import timedelta
from smtplib import SMTPDataError, SMTPRecipientsRefused, SMTPSenderRefused
from typing import Any

from django.conf import settings
from django.core.mail import get_connection

from accounts.models import Outbox
from devportal.lib import clock
from devportal.lib.telemetry import metrics

log = logging.getLogger(__name__)

BATCH = 100
# SMTP errors that concern one mail only; the server accepts others.
_REFUSALS = (SMTPRecipientsRefused, SMTPSenderRefused, SMTPDataError)


class MailServerUnavailable(Exception):
    """The mail server can't be reached, so that no other mail could be sent either."""


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
    row = Outbox.objects.due().filter(pk=pk).first()
    if row is None:
        return False
    with _mail_server() as server, contextlib.suppress(MailServerUnavailable):
        return _send(row, server)
    return False


def send_due(limit: int = BATCH) -> int:
    """Send the mails that are due, at most `limit`; return how many were sent. Safe to run concurrently.

    A mail server that is down is asked once a run: the mail that found out waits for longer, the others stay due.
    """
    sent = 0
    with _mail_server() as server:
        for row in Outbox.objects.due()[:limit]:
            try:
                sent += _send(row, server)
            except MailServerUnavailable:
                break
    return sent


def _send(row: Outbox, server: Any) -> bool:
    """Send one mail unless another worker has claimed it. Raises MailServerUnavailable."""
    if not row.claim():
        return False
    try:
        server.open()
        if not server.send_messages([row.message()]):
            raise OSError("the mail backend sent nothing")
    except _REFUSALS as error:
        metrics.mail_tried("refused")
        _failed(row, error)
    except OSError as error:  # SMTPException and timeouts are among them
        metrics.mail_tried("unreachable")
        _failed(row, error)
        raise MailServerUnavailable from error
    except Exception as error:  # a mail that can't be put together must not hold up the others
        metrics.mail_tried("broken")
        log.exception("Mail %d can't be sent as it is.", row.pk)
        row.note_failure(error)
    else:
        metrics.mail_tried("sent")
        row.note_sent()
        return True
    return False


def _failed(row: Outbox, error: Exception) -> None:
    # The server's words may hold the address; they stand in the row.
    log.warning("Mail %d was not sent at attempt %d: %s.", row.pk, row.attempts, type(error).__name__)
    row.note_failure(error)


def clear_old_mail() -> int:
    """Delete mails that were sent or given up, OUTBOX_DAYS after they were queued; return how many were deleted."""
    old = Outbox.objects.filter(created_at__lt=clock.now() - timedelta(days=settings.OUTBOX_DAYS))
    gone = 0
    while batch := list(old.exclude(sent_at=None, given_up_at=None).values_list("pk", flat=True)[:1000]):
        Outbox.objects.filter(pk__in=batch).delete()
        gone += len(batch)
    return gone
