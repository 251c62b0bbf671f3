"""The list of a person's sessions: django-allauth's UserSession rows, for display (accounts/sessions.py ends sessions).

The library asks the database for each session by itself, at every sign-in and on the page; here it is asked once.
"""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.signals import password_changed, password_set, user_logged_in
from allauth.usersessions.models import UserSession
from allauth.usersessions.signals import on_password_changed
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.models import Account

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
        user_agent=request.META.get("HTTP_USER_AGENT", "")[:longest],
    )


def valid_sessions(account: Account) -> list[UserSession]:
    """Return the person's valid sessions, the oldest first; entries of others are deleted."""
    listed = list(UserSession.objects.filter(user=account).order_by("created_at"))
    keys = [entry.session_key for entry in listed]
    stored = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    valid = {row.session_key for row in stored if is_session_of(row.get_decoded(), account)}
    if gone := [entry.pk for entry in listed if entry.session_key not in valid]:
        UserSession.objects.filter(pk__in=gone).delete()
    return [entry for entry in listed if entry.session_key in valid]


def is_session_of(session: dict[str, Any], account: Account) -> bool:
    """Return whether the person is signed in to a session, as `django.contrib.auth.get_user` decides it."""
    held = session.get(HASH_SESSION_KEY, "")
    hashes = (account.get_session_auth_hash(), *account.get_session_auth_fallback_hash())
    return session.get(SESSION_KEY) == str(account.pk) and any(constant_time_compare(held, each) for each in hashes)
