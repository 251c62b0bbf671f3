"""Ending the browser sessions of a person.

A session is valid while it holds the HMAC of its person's password hash and `session_stamp`. A new stamp therefore ends
all sessions, also those that django-allauth's list (UserSession) lacks; that list is only for display.
"""

from allauth.usersessions.models import UserSession
from django.contrib.auth import update_session_auth_hash
from django.contrib.sessions.models import Session
from django.db import models, transaction
from django.http import HttpRequest

from accounts.models import Account
from devportal.lib.credentials import random_text

STAMP_LENGTH = 22
BATCH = 2000


def end_all_sessions(account: Account) -> None:
    """End all sessions of a person."""
    with transaction.atomic():
        _restamp(account)
        _end(UserSession.objects.filter(user=account))


def end_other_sessions(request: HttpRequest) -> None:
    """End all other sessions of this person; this one gets a new session key, in case its cookie was copied."""
    assert isinstance(request.user, Account)
    with transaction.atomic():
        before = request.session.session_key
        _restamp(request.user)
        update_session_auth_hash(request, request.user)
        listed = UserSession.objects.filter(user=request.user)
        listed.filter(session_key=before).update(session_key=request.session.session_key)
        _end(listed.exclude(session_key=request.session.session_key))


def has_changed(seen: Account, account: Account) -> bool:
    """Tell whether password or sessions of the account have changed since `seen` was read."""
    return seen.get_session_auth_hash() != account.get_session_auth_hash()


def end_listed_session(listed: UserSession) -> bool:
    """End the session of an entry of the list; return False if there was none any more, or not under this key.

    The entry leads to the session, but the session's own row is what signs somebody in: without it the browser is
    signed out at its next request, and what it is doing just now can't store a session again.
    """
    with transaction.atomic():
        ended, _ = Session.objects.filter(session_key=listed.session_key).delete()
        listed.delete()
    return bool(ended)


def _end(listed: "models.QuerySet[UserSession]") -> None:
    Session.objects.filter(session_key__in=[*listed.values_list("session_key", flat=True)]).delete()
    listed.delete()


def end_everybodys_sessions() -> int:
    """End the sessions of all browsers, those in which nobody is signed in included; return how many there were."""
    ended = 0
    tables: tuple[tuple[type[models.Model], bool], ...] = ((Session, True), (UserSession, False))
    for model, counts in tables:
        while batch := list(model._default_manager.values_list("pk", flat=True)[:BATCH]):
            model._default_manager.filter(pk__in=batch).delete()
            ended += len(batch) if counts else 0
    return ended


def _restamp(account: Account) -> None:
    account.session_stamp = random_text(STAMP_LENGTH)
    Account.objects.filter(pk=account.pk).update(session_stamp=account.session_stamp)
