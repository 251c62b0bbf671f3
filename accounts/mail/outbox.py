"""Queues mail in the transaction that causes it; accounts/mail/delivery.py sends it once that is committed."""

import re
import unicodedata
from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.template import Context
from django.template.engine import Engine

from accounts.mail import delivery
from accounts.models import Outbox
from accounts.tasks import send_mail
from devportal.lib import clock, encryption
from devportal.lib.credentials import random_text
from devportal.lib.encrypted_columns import EncryptedColumn
from devportal.lib.mail import validate_mail_address
from devportal.lib.task_queue import queue_task

COLUMN = EncryptedColumn(Outbox, "body_encrypted")
SUBJECT_LENGTH = 200
SOMEBODY = "[deleted account]"  # replaces the address of a deleted account in mails to others


def queue_mail(to: str, template: str, context: dict[str, Any]) -> Outbox:
    """Store a mail to one address: it is sent if the caller's transaction is committed, and only then.

    `templates/mail/<template>_subject.txt` and `…_message.txt` see the context, `service_name`, and `site`, the address
    of this service. Put no secret into the context. Raises ValidationError for what is no address.
    """
    return store_mail(to, *render_mail(template, context))


def store_mail(to: str, subject: str, body: str, *, expires_at: datetime | None = None) -> Outbox:
    """Store a mail as `queue_mail` does, with a subject and a body of its own.

    With `expires_at` the body is encrypted and wiped once it is sent, and from then on nobody sends it. It must name
    nobody but its recipient: `delete_mail_to` can't read it. Raises ValidationError for what is no address.
    """
    validate_mail_address(to)
    body = _printable(body).strip() + "\n"
    now = clock.now()
    row = Outbox.objects.create(
        to=to,
        subject=_one_line(subject)[:SUBJECT_LENGTH],
        body="" if expires_at else body,
        body_encrypted=encryption.encrypt(body) if expires_at else "",
        expires_at=expires_at,
        message_id=f"<{random_text(22)}@{urlsplit(settings.AUTH_URL).hostname}>",
        created_at=now,
        not_before=now,
    )
    transaction.on_commit(partial(_announce, row.pk), robust=True)
    return row


def withdraw_mail(pk: int) -> bool:
    """Give up a mail whose code was replaced, and wipe it; return False if it was sent or is being sent."""
    waiting = Outbox.objects.unclaimed().filter(pk=pk).exclude(expires_at=None)
    return bool(waiting.update(given_up_at=clock.now(), body_encrypted="", last_error="replaced by a newer mail"))


def render_mail(template: str, context: dict[str, Any]) -> tuple[str, str]:
    """Return subject and body of a mail, as `queue_mail` stores them."""
    known = {"service_name": settings.SERVICE_NAME, "site": settings.AUTH_URL}
    subject = settings.ACCOUNT_EMAIL_SUBJECT_PREFIX + _one_line(
        _render(f"mail/{template}_subject.txt", context | known)
    )
    body = _printable(_render(f"mail/{template}_message.txt", context | known)).strip() + "\n"
    return subject[:SUBJECT_LENGTH], body


def _render(template: str, context: dict[str, Any]) -> str:
    # Plain text: a name with an ampersand stays as it is.
    return Engine.get_default().get_template(template).render(Context(context, autoescape=False))


def _printable(text: str) -> str:
    """Drop control characters but line ends and tabs: some would end a header, others no database stores."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(letter for letter in text if letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cs"))


def _one_line(text: str) -> str:
    return _printable(" ".join(text.split()))


def delete_mail_to(addresses: Collection[str]) -> None:
    """Delete mails to these addresses, waiting ones too, and take the addresses out of all mails to others.

    What a mail server has taken can't be called back. Reads every mail that is kept: for deletions of accounts.
    """
    Outbox.objects.filter(to__in=addresses).delete()
    for address in addresses:
        pattern = _standing_alone(address)
        naming = Q(subject__icontains=address) | Q(body__icontains=address) | Q(last_error__icontains=address)
        for row in Outbox.objects.filter(naming).only("subject", "body", "last_error"):
            named = {field: getattr(row, field) for field in ("subject", "body", "last_error")}
            masked = {field: pattern.sub(SOMEBODY, text) for field, text in named.items()}
            masked["subject"] = masked["subject"][:SUBJECT_LENGTH]
            Outbox.objects.filter(pk=row.pk).update(**masked)


def _standing_alone(address: str) -> "re.Pattern[str]":
    """Return a pattern that matches the address, but not as part of a longer one."""
    before, after = r"(?<!\w)(?<!\w[.+_%-])", r"(?![\w-])(?!\.\w)"
    return re.compile(before + re.escape(address) + after, re.IGNORECASE)


def _announce(pk: int) -> None:
    """Have the mail sent by a worker; by this process where there is none (embedded environment)."""
    if settings.CELERY_TASK_ALWAYS_EAGER:
        delivery.send_inline(pk)
    else:
        queue_task(send_mail, pk)
