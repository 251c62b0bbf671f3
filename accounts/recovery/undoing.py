"""Undoing a new factor from the mailbox that got the notice (docs/accounts.md#undoing-a-new-factor).

A link identifies the event, and grants no access: its page mails a code to the mailbox that got the notice, and the
code removes exactly the factor of that event. Nobody has to be signed in.
"""

from datetime import timedelta

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest

from accounts.factors import removal
from accounts.mail import codes
from accounts.models import Account, SecurityEvent
from accounts.recovery import address_changes
from accounts.sessions.browser_sessions import end_all_sessions
from core import clock
from core.audit import Event, report

# Kinds of events that add a factor. Their details contain the factor and the mailbox that got the notice.
UNDOABLE = frozenset({"passkey_added", "key_added", "authenticator_on", "recovery_codes_made"})


class UndoRefused(ValidationError):
    """Nothing was removed; the message is for the page."""


def undoable(event: SecurityEvent) -> bool:
    """Return whether the event added a factor that is still there, and that its mailbox may still remove."""
    return _is_recent(event) and _factor_of(event) is not None and _may_undo(event)


def code_of(event: SecurityEvent) -> codes.MailboxCode:
    """Return the code for the mailbox that got the notice about an undoable event."""
    return codes.MailboxCode("undo_code", f"undo {event.pk}", event.details.get("mailbox", ""), codes.DAY)


def undo(request: HttpRequest, event: SecurityEvent, code: str) -> None:
    """Remove the factor of an event and the recovery codes that came with it, and end all sessions.

    Raises UndoRefused.
    """
    proof = code_of(event)
    if not proof.is_right(code):
        raise UndoRefused(codes.WRONG_CODE)
    with transaction.atomic():
        account = Account.objects.select_for_update(no_key=True).filter(pk=event.account_id).first()
        factor = _factor_of(event)
        if account is None or factor is None or not _is_recent(event) or not _may_undo(event):
            raise UndoRefused("There is nothing to remove. It was already removed, or it was added too long ago.")
        factors = [factor, *_codes_that_came_with(factor)]
        removal.remove_factors(account, factors, request, notify=True, also_to=[proof.email])
        end_all_sessions(account)
        report(Event("account.factor_undone", target=f"account:{account.pk}", person=account.pk))


def _is_recent(event: SecurityEvent) -> bool:
    is_young = clock.now() - event.at < timedelta(days=settings.ADDRESS_REVERSAL_DAYS)
    return event.kind in UNDOABLE and is_young


def _may_undo(event: SecurityEvent) -> bool:
    """Return whether the mailbox that got the notice still belongs to the account, or can take it back.

    Once the owner has taken the account back, neither is true for a thief's mailbox.
    """
    return event.details.get("mailbox") in address_changes.reachable_addresses(event.account)


def _factor_of(event: SecurityEvent) -> Authenticator | None:
    """Return exactly the factor that the event added; recovery codes that were replaced since do not count."""
    factor: Authenticator | None = Authenticator.objects.filter(
        user=event.account_id, pk=event.details.get("factor") or 0
    ).first()
    return factor


def _codes_that_came_with(factor: Authenticator) -> list[Authenticator]:
    made = SecurityEvent.objects.filter(
        account=factor.user_id, kind="recovery_codes_made", details__came_with=factor.pk
    )
    pks = [event.details["factor"] for event in made]
    return list(Authenticator.objects.filter(user=factor.user_id, pk__in=pks))
