"""The card "Sign-in" of a person's page: why they can't sign in (docs/accounts.md#when-someone-cant-sign-in).

It reads and counts nothing else: each part has a limit, and uses an index or the counters of the limits.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings

from accounts.activity import wrong_guesses
from accounts.activity.recording import sentence
from accounts.entrance import guesses
from accounts.mail import codes, recipient_limit
from accounts.models import Account, AccountRecovery, Outbox, SecurityEvent, WrongCodes
from accounts.recovery import waiting
from accounts.sessions import keys
from accounts.sessions.browser_sessions import newest_sessions
from core import clock
from core.http.client_ip import limit_key_of
from core.limits import Rate, seconds_left, usage
from core.messages import fill_in

Type = Authenticator.Type
NEWEST = 20
MOST_MAILS, MOST_ADDRESSES = 10, 5
WRONG_DAYS = 7

_CODES_LEFT = ("{count} recovery code", "{count} recovery codes")
# Texts that take `until`, the end of the window of a limit.
_PROVE = "Until {until:minute}, a new browser has to enter a code from an email before the next {guess}."
_WAIT = "Until {until:minute}, new browsers at {address} can't enter a {guess}."
_WAIT_PROVED = "Until {until:minute}, browsers that have entered a code from an email can't enter a {guess}."
_WAIT_SIGNED_IN = "Until {until:minute}, browsers that are signed in can't enter a {guess} to confirm that it is them."
_NO_PROOFS = "Until {until:minute}, no more codes that prove the mailbox are sent to them."
_NO_MAILS = "Until {until:minute}, new browsers can't cause emails to them, such as the code for a new password."


@dataclass(frozen=True)
class Factor:
    """A factor in words; `used_at` is None if it was never used."""

    name: str
    since: datetime
    used_at: datetime | None


@dataclass(frozen=True)
class Happened:
    """A security event in words."""

    event: SecurityEvent
    says: str


def sign_in_card(account: Account, *, with_mails: bool) -> dict[str, Any]:
    """Return what the card shows; `with_mails` is whether the operator may see mails."""
    events = SecurityEvent.objects.filter(account=account).order_by("-at", "-pk")
    since = clock.now() - timedelta(days=WRONG_DAYS)
    wrong = list(events.filter(kind__in=wrong_guesses.KINDS, at__gte=since)[:NEWEST])
    mails = Outbox.objects.filter(to=account.email).order_by("-pk").defer("body", "html")
    return {
        "holds": [*_states(account), *_limits(account, [event.ip for event in wrong if event.ip])],
        "recovery": _recovery(waiting.open_recovery(account)),
        "has_password": account.has_usable_password(),
        "factors": [_factor(row) for row in Authenticator.objects.filter(user=account).order_by("pk")[:NEWEST]],
        "sessions": newest_sessions(account, NEWEST),
        "wrong": _in_words(wrong),
        "wrong_days": WRONG_DAYS,
        "events": _in_words(events.exclude(kind__in=wrong_guesses.KINDS)[:NEWEST]),
        "mails": [(mail, _state_of(mail)) for mail in mails[:MOST_MAILS]] if with_mails else None,
    }


def _in_words(events: Iterable[SecurityEvent]) -> list[Happened]:
    return [Happened(event, sentence(event)) for event in events]


def _states(account: Account) -> Iterator[str]:
    """Yield what holds the person back whatever they type."""
    if account.deletion_due_at is not None:
        text = "They have closed the account. It is deleted on {due:day}; signing in offers to keep it."
        yield fill_in(text, {"due": account.deletion_due_at})
    elif not account.is_active:
        yield "The account is deactivated, so nobody can sign in to it."
    if not account.email_verified:
        yield "They have not confirmed the email address. They enter a code from an email before they can sign in."
    wrong = WrongCodes.objects.filter(account=account).values_list("count", flat=True).first() or 0
    if wrong >= settings.WRONG_CODES_PER_ACCOUNT:
        text = "{count} wrong codes in a row were entered. Until a right one, every browser needs one from an email."
        yield fill_in(text, {"count": wrong})


def _limits(account: Account, addresses: list[str]) -> Iterator[str]:
    """Yield which limits are reached: of the account, and of the IP addresses of its latest wrong guesses."""
    mailbox = usage.mailbox_key(account.email)
    for what, guess, key in (
        (guesses.PASSWORD, "password", account.email),
        (guesses.SECOND_FACTOR, "code for two-step verification", str(account.pk)),
    ):
        for address in list(dict.fromkeys(map(limit_key_of, addresses)))[:MOST_ADDRESSES]:
            yield from _reached(guesses.limits_of(what, key, "", address)[:2], _WAIT, guess=guess, address=address)
        yield from _reached(guesses.limits_of(what, key, "")[2:], _PROVE, guess=guess)
        yield from _reached(guesses.limits_of(what, key, guesses.OF_THE_MAILBOX), _WAIT_PROVED, guess=guess)
        signed_in = guesses.limits_of(what, str(account.pk), guesses.SIGNED_IN)
        yield from _reached(signed_in, _WAIT_SIGNED_IN, guess=guess)
    yield from _reached([(codes.code_mails(), (mailbox, guesses.PURPOSE))], _NO_PROOFS)
    yield from _reached([(recipient_limit.mails(), (mailbox, ""))], _NO_MAILS)


def _reached(limits: list[tuple[Rate, tuple[object, ...]]], text: str, **values: str) -> Iterator[str]:
    seconds = max(seconds_left(rate, *key) for rate, key in limits)
    if seconds:
        # The text has no seconds, so the time is rounded up.
        yield fill_in(text, values | {"until": clock.now() + timedelta(seconds=seconds + 59)})


def _factor(row: Authenticator) -> Factor:
    if not keys.UNREADABLE_COLUMN.is_readable(row.data):
        name = f"{row.get_type_display()}, which can't be read"
    elif row.type == Type.WEBAUTHN:
        name = f"{'Passkey' if keys.signs_in_alone(row) else 'Security key'} “{row.wrap().name}”"
    elif row.type == Type.RECOVERY_CODES:
        name = fill_in(_CODES_LEFT, {"count": keys.held_among([row]).codes_left})
    else:
        name = "Authenticator app"
    return Factor(name, row.created_at, row.last_used_at)


def _recovery(found: AccountRecovery | None) -> str:
    if found is None:
        return ""
    text = "{starter} started a recovery on {started:minute}. It will be completed on {due:minute}."
    starter = "The person" if found.is_own else "An operator"
    return fill_in(text, {"starter": starter, "started": found.started_at, "due": found.due_at})


def _state_of(mail: Outbox) -> str:
    if mail.sent_at is not None:
        return fill_in("The mail server accepted it on {at:minute}.", {"at": mail.sent_at})
    if mail.given_up_at is not None:
        text = "It was given up on {at:minute}. {error}"
        return fill_in(text, {"at": mail.given_up_at, "error": mail.last_error or "Its code was no longer valid."})
    return fill_in("It waits. {error}", {"error": mail.last_error}).strip()
