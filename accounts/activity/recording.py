"""Recording the events of an account, and notifying its owner by mail."""

import contextlib
from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.core import signing
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest

from accounts.activity import audit_lines
from accounts.activity.kinds import KINDS, SecurityNotice, parameters_of, text_of
from accounts.mail import outbox
from accounts.models import Account, SecurityEvent
from accounts.signals import activity_recorded
from core import audit_log, clock
from core.http.client_ip import client_ip
from core.http.places import browser_name, place_of, user_agent
from core.messages import fill_in

By = SecurityEvent.By
_SIGNER_SALT = "accounts.activity.event"


def record(
    account: Account,
    kind: str,
    request: HttpRequest | None = None,
    *,
    by: SecurityEvent.By = By.PERSON,
    also_to: Collection[str] = (),
    notify: bool = True,
    **details: Any,
) -> SecurityEvent:
    """Store an event of the account, and queue its mail if its kind has one; call it in the transaction of the change.

    `request` is the request of the person's own browser, None for actions of operators or of the service. `details`
    fill the kind's sentences. The mail is sent to the account's email address and to `also_to`. With `notify=False`, no
    mail is sent, because another email covers the same change.
    """
    notice = KINDS[kind].notice if notify else None
    ip = client_ip(request) if request else ""
    event = SecurityEvent(
        account=account,
        kind=kind,
        at=clock.now(),
        by=by,
        ip=ip or None,
        browser=browser_name(user_agent(request)) if request else "",
        place=place_of(ip),
        details=details,
    )
    with transaction.atomic(savepoint=False):
        event.save(force_insert=True)
        if notice is not None:
            _queue(notice, event, (account.email, *also_to))
        activity_recorded.send(sender=SecurityEvent, event=event)
        audit_log.write_after_commit(audit_lines.line_of(event, **audit_log.current_request()))
    return event


def _queue(notice: SecurityNotice, event: SecurityEvent, addresses: Collection[str]) -> None:
    context = {
        "subject": notice.subject,
        "text": text_of(notice, event.details),
        "then": notice.then,
        "event": event,
        "zone": event.account.time_zone,
        "token": token_of(event),
        "undo_days": settings.ADDRESS_REVERSAL_DAYS if "factor" in event.details else 0,
        "by_operator": event.by == By.OPERATOR,
    }
    for address in dict.fromkeys(addresses):
        with contextlib.suppress(ValidationError):  # no mail server accepts this email address
            outbox.queue_mail(address, "security_notice", context)


def token_of(event: SecurityEvent) -> str:
    """Return the token for links to pages about an event: it identifies the event, and grants no access."""
    return signing.Signer(salt=_SIGNER_SALT).sign(str(event.pk))


def event_by_token(token: str) -> SecurityEvent | None:
    """Return the event that a link names; None if the token is invalid, or the event was deleted."""
    try:
        pk = signing.Signer(salt=_SIGNER_SALT).unsign(token)
    except signing.BadSignature:
        return None
    return SecurityEvent.objects.select_related("account").filter(pk=pk).first()


def sentence(event: SecurityEvent) -> str:
    """Return the activity page's sentence for an event; during an upgrade, the new version may store unknown kinds."""
    kind = KINDS.get(event.kind)
    return fill_in(kind.says, parameters_of(event.details)) if kind else event.kind.replace("_", " ").capitalize()
