"""Queues mail in the transaction that causes it; accounts/mail/delivery.py sends it after the commit."""

import html
import re
from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from accounts.mail import delivery
from accounts.mail.rendering import SUBJECT_LENGTH, Mail, one_line, printable, render_mail
from accounts.models import Account, Outbox
from accounts.models.outbox import WIPED
from accounts.tasks import send_mail
from core import clock
from core.credentials import random_text
from core.database import encryption
from core.database.encryption import EncryptedColumn
from core.email_addresses import stored_address
from core.tasks import queue_task

COLUMNS = (EncryptedColumn(Outbox, "body_encrypted"), EncryptedColumn(Outbox, "html_encrypted"))
SOMEONE = "[deleted account]"  # replaces the email address of a deleted account in emails to others
_READABLE = ("subject", "body", "html", "last_error")


def queue_mail(to: str, template: str, context: dict[str, Any]) -> Outbox:
    """Store an email to one email address: it is only sent if the caller's transaction is committed.

    `context` is for the template, `templates/mail/<template>.html` (accounts/mail/rendering.py). Put no secret into it.
    Its `zone` is the name of the time zone for times; without it, the zone of the account with this email address.
    Raises ValidationError for an invalid email address.
    """
    return store_mail(to, render_mail(template, {"zone": partial(_zone_of, to)} | context))


def _zone_of(address: str) -> str:
    """Return the time zone of the account with this email address, "" if it is not known; only mails with times ask."""
    return Account.objects.filter(email=address).values_list("time_zone", flat=True).first() or ""


def queue_last_mail(to: str, template: str, context: dict[str, Any]) -> Outbox:
    """Queue a mail to someone whose account was deleted: like `queue_mail`, but the row is deleted once it is sent."""
    return store_mail(to, render_mail(template, context), is_last=True)


def store_mail(to: str, mail: Mail, *, expires_at: datetime | None = None, is_last: bool = False) -> Outbox:
    """Store a rendered mail as `queue_mail` does.

    With `expires_at` the body is encrypted and wiped once it is sent, and the mail is not sent after that time. It must
    not mention anyone but its recipient, because `delete_mail_to` can't read it. Raises ValidationError for an invalid
    email address.
    """
    to = stored_address(to)
    body, page = printable(mail.text).strip() + "\n", printable(mail.html)
    now = clock.now()
    row = Outbox.objects.create(
        to=to,
        subject=one_line(mail.subject)[:SUBJECT_LENGTH],
        body="" if expires_at else body,
        html="" if expires_at else page,
        body_encrypted=encryption.encrypt(body) if expires_at else "",
        html_encrypted=encryption.encrypt(page) if expires_at and page else "",
        expires_at=expires_at,
        message_id=f"<{random_text(22)}@{urlsplit(settings.AUTH_URL).hostname}>",
        created_at=now,
        not_before=now,
        is_last=is_last,
    )
    transaction.on_commit(partial(_announce, row.pk), robust=True)
    return row


def withdraw_mail(pk: int) -> bool:
    """Give up an email whose code was replaced, and wipe it; return False if it was sent or is being sent."""
    waiting = Outbox.objects.unclaimed().filter(pk=pk).exclude(expires_at=None)
    return bool(waiting.update(given_up_at=clock.now(), last_error="replaced by a newer mail", **WIPED))


def delete_mail_to(addresses: Collection[str], until: datetime | None = None) -> None:
    """Delete mails to these email addresses, including waiting ones, and remove the addresses from mails to others.

    With `until`, mails that were queued later stay, because the email addresses may belong to someone else since then.
    Emails that a mail server has accepted can't be called back. Reads all stored emails, so use it for deletions only.
    """
    stored = Outbox.objects.all() if until is None else Outbox.objects.filter(created_at__lte=until)
    stored.filter(to__in=addresses).delete()
    for address in addresses:
        # In HTML, as Django escapes it, and as it is after styles were inlined.
        written = {html.escape(address, quote=quote) for quote in (True, False)}
        naming = Q(subject__icontains=address) | Q(body__icontains=address) | Q(last_error__icontains=address)
        for each in written:
            naming |= Q(html__icontains=each)
        for row in stored.filter(naming).only(*_READABLE):
            masked = {field: _standing_alone(address).sub(SOMEONE, getattr(row, field)) for field in _READABLE}
            for each in written:
                masked["html"] = _standing_alone(each).sub(SOMEONE, masked["html"])
            masked["subject"] = masked["subject"][:SUBJECT_LENGTH]
            Outbox.objects.filter(pk=row.pk).update(**masked)


def _standing_alone(address: str) -> "re.Pattern[str]":
    """Return a pattern that matches the address, but not as part of a longer one."""
    before, after = r"(?<!\w)(?<!\w[.+_%-])", r"(?![\w-])(?!\.\w)"
    return re.compile(before + re.escape(address) + after, re.IGNORECASE)


def _announce(pk: int) -> None:
    """Let a worker send the email, or this process if there is none (embedded environment)."""
    if settings.CELERY_TASK_ALWAYS_EAGER:
        delivery.send_inline(pk)
    else:
        queue_task(send_mail, pk)
