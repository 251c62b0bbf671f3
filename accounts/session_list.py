"""The list of a person's sessions: django-allauth's UserSession rows, for display (accounts/sessions.py ends sessions).

The library asks the database for each session by itself, at every sign-in and on the page; here it is asked once.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.signals import password_changed, password_set, user_logged_in
from allauth.usersessions.models import UserSession
from allauth.usersessions.signals import on_password_changed
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.activity.browsers import browser_name, user_agent
from accounts.activity.places import place_of
from accounts.models import Account
from devportal.lib import clock

log = logging.getLogger(__name__)

# When a session was last active is stored once in so many seconds.
SEEN_EVERY = 600
# Sessions of which a process remembers that: what is forgotten costs a statement that changes nothing.
REMEMBERED = 50_000
_seen: dict[str, float] = {}

for changed in (password_changed, password_set):
    changed.connect(on_password_changed)


@receiver(user_logged_in)
def list_session(sender: Any, request: HttpRequest, user: Account, **kwargs: Any) -> None:
    """Add the session that has just begun; its key is new (`django.contrib.auth.login`)."""
    longest = UserSession._meta.get_field("user_agent").max_length
    UserSession.objects.create(
        user=user,
        session_key=request.session.session_key,
        ip=get_adapter().get_client_ip(request),
        user_agent=user_agent(request)[:longest],
    )
    _is_due(request.session.session_key or "")  # what has just begun was seen


def valid_sessions(account: Account) -> list[UserSession]:
    """Return the person's valid sessions, the oldest first; entries of others are deleted."""
    listed = list(UserSession.objects.filter(user=account).order_by("created_at"))
    keys = [entry.session_key for entry in listed]
    stored = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    valid = {row.session_key for row in stored if is_session_of(row.get_decoded(), account)}
    if gone := [entry.pk for entry in listed if entry.session_key not in valid]:
        UserSession.objects.filter(pk__in=gone).delete()
    return [entry for entry in listed if entry.session_key in valid]


@dataclass(frozen=True)
class Described:
    """A session as its page shows it."""

    pk: int
    browser: str
    ip: str
    place: str
    began_at: datetime
    seen_at: datetime
    is_current: bool


def described_sessions(account: Account, current_key: str | None) -> list[Described]:
    """Return the person's valid sessions in words: the one that asks first, then those that were active last."""
    rows = [
        Described(
            pk=entry.pk,
            browser=browser_name(entry.user_agent),
            ip=entry.ip,
            place=place_of(entry.ip),
            began_at=entry.created_at,
            seen_at=entry.last_seen_at,
            is_current=entry.session_key == current_key,
        )
        for entry in valid_sessions(account)
    ]
    return sorted(rows, key=lambda row: (row.is_current, row.seen_at), reverse=True)


def _is_due(session_key: str) -> bool:
    """Return whether this process has to store that a session is active, and remember that it does."""
    now = clock.now().timestamp()
    if now - _seen.get(session_key, 0) < SEEN_EVERY:
        return False
    if len(_seen) >= REMEMBERED:
        _seen.clear()
    _seen[session_key] = now
    return True


class LastSeenMiddleware:
    """Keeps up when each session was last active, for pages: what programs call does not come this far."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        session = request.session
        if session.accessed and SESSION_KEY in session and session.session_key and _is_due(session.session_key):
            now = clock.now()
            stale = UserSession.objects.filter(
                session_key=session.session_key, last_seen_at__lt=now - timedelta(seconds=SEEN_EVERY)
            )
            try:
                stale.update(last_seen_at=now)
            except DatabaseError as error:  # the page is not worth less without it
                log.warning("When a session was last active can't be stored: %s", error)
        return response


def is_session_of(session: dict[str, Any], account: Account) -> bool:
    """Return whether the person is signed in to a session, as `django.contrib.auth.get_user` decides it."""
    held = session.get(HASH_SESSION_KEY, "")
    hashes = (account.get_session_auth_hash(), *account.get_session_auth_fallback_hash())
    return session.get(SESSION_KEY) == str(account.pk) and any(constant_time_compare(held, each) for each in hashes)
