"""Recording what happened to an account, and telling its owner by mail."""

import contextlib
from collections.abc import Collection
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest

from accounts.activity.browsers import browser_name
from accounts.activity.kinds import KINDS
from accounts.mail import outbox
from accounts.models import Account, SecurityEvent
from devportal.lib import clock
from devportal.lib.client_ip import client_ip

By = SecurityEvent.By


def record(
    account: Account,
    kind: str,
    request: HttpRequest | None = None,
    *,
    by: SecurityEvent.By = By.PERSON,
    also_to: Collection[str] = (),
    **details: Any,
) -> SecurityEvent:
    """Store an event of the account, and queue its mail if its kind has one; call it in the transaction of the change.

    `request` is the one of the person's own browser, None for what an operator or the service did. `details` fill the
    kind's sentences. The mail goes to the account's address, and to `also_to`.
    """
    event = SecurityEvent.objects.create(
        account=account,
        kind=kind,
        at=clock.now(),
        by=by,
        ip=client_ip(request) or None if request else None,
        browser=browser_name(request.META.get("HTTP_USER_AGENT", "")) if request else "",
        details=details,
    )
    if notice := KINDS[kind].notice:
        context = {
            "subject": notice.subject,
            "tells": notice.tells.format_map(details),
            "event": event,
            "by_operator": by == By.OPERATOR,
        }
        for address in dict.fromkeys((account.email, *also_to)):
            with contextlib.suppress(ValidationError):  # no mail server takes the address
                outbox.queue_mail(address, "security_notice", context)
    return event


def sentence(event: SecurityEvent) -> str:
    """Return what the activity page says of an event; one of an earlier version may have a kind of no sentence."""
    kind = KINDS.get(event.kind)
    try:
        return kind.says.format_map(event.details) if kind else event.kind.replace("_", " ").capitalize()
    except KeyError:
        return event.kind.replace("_", " ").capitalize()
