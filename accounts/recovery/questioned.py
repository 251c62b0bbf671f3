"""Factors that were added shortly before a change of email address that the owner has taken back.

A thief needs a factor before they can change the email address. So the page that follows asks the owner about what was
added in the days before, and until they have answered, such a passkey does not sign in alone
(docs/accounts.md#changing-the-email-address).
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_used
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.activity.kinds import KINDS
from accounts.activity.recording import sentence
from accounts.factors import factor_events, removal
from accounts.models import Account, SecurityEvent
from accounts.sessions.browser_sessions import end_all_sessions, is_current
from accounts.sessions.keys import FLAG, signs_in_alone
from core.messages import fill_in

# In Authenticator.data: a passkey that does not sign in alone until the owner has answered.
_HELD = "held"
_SIGN_INS = ("signed_in", "signed_in_new_browser")
_MOST_SIGN_INS = 20


@dataclass(frozen=True)
class Question:
    """The factors to ask about: added at `since` or later, with a primary key of at most `newest`."""

    since: datetime
    newest: int


def ask(account: Account, changed_at: datetime) -> Question:
    """Hold the passkeys that were added in the days before a change; the account's row is locked."""
    since = changed_at - timedelta(days=settings.ADDRESS_REVERSAL_DAYS)
    for row in Authenticator.objects.select_for_update().filter(user=account, created_at__gte=since):
        if row.type == Authenticator.Type.WEBAUTHN and signs_in_alone(row):
            row.data |= {FLAG: False, _HELD: True}
            row.save(update_fields=["data"])
    return Question(since, removal.newest_factor(account))


def factors_to_ask_about(account: Account, question: Question) -> list[dict[str, Any]]:
    """Return the factors for the page, the newest first, with the event of each one if it is known."""
    rows = Authenticator.objects.filter(user=account, created_at__gte=question.since, pk__lte=question.newest)
    events = SecurityEvent.objects.filter(account=account, details__factor__in=[row.pk for row in rows])
    added = {event.details["factor"]: event for event in events}
    return [
        {"pk": row.pk, "at": row.created_at, "says": _says(row), "event": added.get(row.pk)} for row in reversed(rows)
    ]


def sign_ins_to_show(account: Account, question: Question) -> list[dict[str, Any]]:
    """Return the sign-ins of these days for the page, the newest first."""
    events = SecurityEvent.objects.filter(account=account, kind__in=_SIGN_INS, at__gte=question.since)
    return [{"says": sentence(event), "event": event} for event in events.order_by("-pk")[:_MOST_SIGN_INS]]


def answer(request: HttpRequest, pk: int, stamp: str, question: Question, kept: Collection[int]) -> Account | None:
    """Remove the factors that the owner has not kept, and the ones that were added since the question.

    Return None if the account's password or sessions have changed since `stamp`, its session auth hash.
    """
    with transaction.atomic():
        account = Account.objects.select_for_update(no_key=True).filter(pk=pk).first()
        if account is None or not is_current(stamp, account):
            return None
        recent = Q(created_at__gte=question.since) | Q(pk__gt=question.newest)
        rows = list(Authenticator.objects.select_for_update().filter(recent, user=account))
        for row in rows:
            _release(row)
        gone = [row for row in rows if row.pk > question.newest or row.pk not in kept]
        removal.remove_factors(account, gone, request, notify=True)
        end_all_sessions(account)
    return account


@receiver(authenticator_used)
def release_if_used(sender: Any, authenticator: Authenticator, **kwargs: Any) -> None:
    """Let a passkey sign in alone again once it was used after a password: a new one takes the owner's mailbox."""
    _release(authenticator)


def _release(row: Authenticator) -> None:
    if row.data.pop(_HELD, False):
        row.data[FLAG] = True
        row.save(update_fields=["data"])


def _says(row: Authenticator) -> str:
    if _HELD in row.data:
        row.data[FLAG] = True  # it is a passkey; this is not stored
    return fill_in(KINDS[factor_events.added_kind(row)].says, factor_events.name_details(row))
