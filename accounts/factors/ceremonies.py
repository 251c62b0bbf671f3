"""WebAuthn challenges in the session: each belongs to one purpose and one account, and expires after a few minutes.

django-allauth stores one challenge per session, which any of its endpoints accepts at any later time. Here every
challenge is stored for its purpose as soon as it is created. The form of that purpose removes it, so that it is valid
for one response, whether that is right or wrong. See docs/security.md#webauthn-challenges.
"""

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

from allauth.core import context as allauth_context
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.allauth_internals import webauthn
from accounts.models import Account
from core import clock

SESSION_KEY = "webauthn_challenges"
# Seconds for which a response to a challenge is accepted (WebAuthn §13.4.3 recommends the time-out of the ceremony).
SECONDS = 5 * 60


class Purpose(enum.StrEnum):
    """The purpose of a challenge."""

    SIGN_IN = "sign_in"
    SECOND_FACTOR = "second_factor"
    REAUTHENTICATION = "reauthentication"
    STEP_UP = "step_up"
    ENROLMENT = "enrolment"
    SIGN_UP = "sign_up"
    CONDITIONAL = "conditional"  # a passkey that the browser creates by itself after a sign-in


def keep_challenge(purpose: Purpose, account: Account | None = None) -> None:
    """Store the challenge that django-allauth has just created; `account` is None for a sign-in with only a passkey."""
    session = allauth_context.request.session
    state = webauthn.get_state()
    webauthn.clear_state()
    entry = {"state": state, "at": clock.timestamp(), "account": account.pk if account else None}
    session[SESSION_KEY] = session.get(SESSION_KEY, {}) | {str(purpose): entry}


@contextlib.contextmanager
def challenge_of(purpose: Purpose, account: Account | None = None) -> Iterator[bool]:
    """Give django-allauth the challenge of this purpose for the block, then delete it.

    Yields whether there is one that was created for this account within the last minutes.
    """
    entry = _take(purpose)
    is_current = entry is not None and _is_current(entry, account)
    webauthn.clear_state()  # only a challenge of this purpose is accepted
    if entry is not None and is_current:
        webauthn.set_state(entry["state"])
    try:
        yield is_current
    finally:
        webauthn.clear_state()


def cancel(purpose: Purpose) -> None:
    """Delete the challenge of this purpose, because the person pressed Cancel."""
    _take(purpose)


def _take(purpose: Purpose) -> dict[str, Any] | None:
    session = allauth_context.request.session
    entries = session.get(SESSION_KEY, {})
    if purpose not in entries:
        return None
    rest = {name: entry for name, entry in entries.items() if name != purpose}
    if rest:
        session[SESSION_KEY] = rest
    else:
        del session[SESSION_KEY]
    entry: dict[str, Any] = entries[purpose]
    return entry


def _is_current(entry: dict[str, Any], account: Account | None) -> bool:
    is_theirs: bool = entry["account"] == (account.pk if account else None)
    return is_theirs and bool(entry["state"]) and 0 <= clock.timestamp() - entry["at"] <= SECONDS


@receiver(user_logged_in)
def forget_all(sender: Any, request: HttpRequest, **kwargs: Any) -> None:
    """Delete every challenge after a sign-in: all of them belonged to the session before it."""
    request.session.pop(SESSION_KEY, None)
    request.session.pop(webauthn.STATE_SESSION_KEY, None)
