"""The browser sessions of a person: listing and ending them.

Each session has a tag, a random value that stays the same when the session gets a new key. The ids of its sessions at
apps are derived from it (`app_session`), and higher layers remember it to learn when the session ends.
"""

import base64
import hmac
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.signals import user_logged_in
from allauth.usersessions.models import UserSession
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, update_session_auth_hash
from django.contrib.auth.middleware import AuthenticationMiddleware as DjangoAuthenticationMiddleware
from django.contrib.auth.middleware import get_user
from django.contrib.sessions.models import Session
from django.db import models, transaction
from django.db.models import Exists, OuterRef
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.functional import SimpleLazyObject

from accounts.models import Account
from accounts.signals import sessions_ended
from core import clock
from core.credentials import random_text
from core.http.places import browser_name, place_of, user_agent
from core.http.sessions import (
    ACTIVE_EVERY,
    AFTER_ENDED,
    OF_A_SIGN_IN,
    SessionStore,
    is_due,
    session_active,
    session_flushed,
    session_renewed,
)

# Session key during a sign-in, after the password: ending all sessions also ends a sign-in that is not complete.
HALF_SIGNED_IN = f"{OF_A_SIGN_IN}half_signed_in"
# Session key during a password reset: ending all sessions or choosing a new password also ends its code.
RESETTING = f"{OF_A_SIGN_IN}resetting"
# Key of the tag in a session, and in the entry of allauth's list.
TAG = "tag"
TAG_LENGTH = 22
STAMP_LENGTH = 22
BATCH = 2000


def tag_of(request: HttpRequest) -> str:
    """Return the tag of the request's session, "" if nobody is signed in."""
    tag: str = request.session.get(TAG, "")
    return tag


@dataclass(frozen=True)
class AppSession:
    """A browser session as one app knows it: `sid` is the app's id of it, `tag` the session's tag."""

    sid: str
    tag: str


def app_session(request: HttpRequest, client_id: str) -> AppSession | None:
    """Return the request's session as an app knows it, None if nobody is signed in.

    The `sid` (OpenID Connect Back-Channel Logout 1.0, 2.1) is an HMAC of the client id with the session's tag: apps
    can't tell that two of them belong to one session.
    """
    tag = tag_of(request)
    if not tag:
        return None
    mac = hmac.digest(tag.encode(), client_id.encode(), "sha256")
    return AppSession(base64.urlsafe_b64encode(mac).rstrip(b"=").decode(), tag)


def hold_session(request: HttpRequest) -> bool:
    """Keep the request's session from ending until this transaction ends; return False if it has ended already."""
    rows = Session.objects.select_for_update(no_key=True).filter(session_key=request.session.session_key)
    return bool(list(rows.values_list("pk", flat=True)))


def end_all_sessions(account: Account) -> None:
    """End all sessions of a person."""
    with transaction.atomic():
        _restamp(account)
        _end(UserSession.objects.filter(user=account))
        sessions_ended.send(sender=UserSession, account=account, tags=None, kept="")


def end_other_sessions(request: HttpRequest) -> None:
    """End all other sessions of this person; this one gets a new session key, in case its cookie was copied."""
    assert isinstance(request.user, Account)
    with transaction.atomic():
        _restamp(request.user)
        update_session_auth_hash(request, request.user)
        listed = UserSession.objects.filter(user=request.user)
        _end(listed.exclude(session_key=request.session.session_key))
        report_others_ended(request, request.user)


def report_others_ended(request: HttpRequest, account: Account) -> None:
    """Report that all sessions of the account but the request's have ended, for example by a new password."""
    kept = tag_of(request) if request.user == account else ""
    sessions_ended.send(sender=UserSession, account=account, tags=None, kept=kept)


def has_changed(earlier: Account, account: Account) -> bool:
    """Return whether password or sessions of the account have changed since `earlier` was read."""
    return earlier.get_session_auth_hash() != account.get_session_auth_hash()


def lock_unchanged(earlier: Account) -> Account | None:
    """Lock and return an account; None if it was deleted, or its password or sessions have changed since `earlier`.

    Call it inside a transaction.
    """
    account = Account.objects.select_for_update(no_key=True).filter(pk=earlier.pk).first()
    return None if account is None or has_changed(earlier, account) else account


def is_current(stored: str, account: Account) -> bool:
    """Return whether a stored session auth hash is that of the account now, also if SECRET_KEY was rotated since."""
    hashes = (account.get_session_auth_hash(), *account.get_session_auth_fallback_hash())
    return any(constant_time_compare(stored, each) for each in hashes)


def is_half_signed_in(request: HttpRequest, account: Account) -> bool:
    """Return whether the account's current password was typed or chosen in this sign-in, which is not complete.

    A new password, or the end of all sessions, also ends such a sign-in.
    """
    return is_current(request.session.get(HALF_SIGNED_IN, ""), account)


def end_listed_session(listed: UserSession) -> bool:
    """End the session of an entry of the list; return False if it no longer exists under this key.

    The session's own row is what signs someone in: without it the browser is signed out at its next request, and a
    request that is running now can't store the session again.
    """
    with transaction.atomic():
        ended, _ = Session.objects.filter(session_key=listed.session_key).delete()
        unlisted, _ = UserSession.objects.filter(pk=listed.pk, session_key=listed.session_key).delete()
        if unlisted:  # otherwise another click has ended it, or it has just got a new key and continues
            _report_ended([listed])
    return bool(ended)


def _report_ended(listed: "Iterable[UserSession]") -> None:
    if tags := [row.data[TAG] for row in listed if TAG in row.data]:
        sessions_ended.send(sender=UserSession, account=None, tags=tags, kept="")


def end_sessions_by_key(hashes: Collection[str]) -> None:
    """End the sessions with these hashes of their keys."""
    with transaction.atomic():
        listed = list(UserSession.objects.filter(session_key__in=hashes))
        entries = UserSession.objects.filter(pk__in=[row.pk for row in listed])
        Session.objects.filter(session_key__in=hashes).delete()
        # The statement may have waited for a request that gave a session a new key.
        Session.objects.filter(session_key__in=[*entries.values_list("session_key", flat=True)]).delete()
        entries.delete()
        _report_ended(listed)


def _end(listed: "models.QuerySet[UserSession]") -> None:
    Session.objects.filter(session_key__in=[*listed.values_list("session_key", flat=True)]).delete()
    listed.delete()


def end_everyones_sessions() -> int:
    """End the sessions of all browsers, including those in which nobody is signed in; return how many there were."""
    ended = 0
    while listed := list(UserSession.objects.all()[:BATCH]):
        with transaction.atomic():
            ended += Session.objects.filter(session_key__in=[row.session_key for row in listed]).delete()[0]
            UserSession.objects.filter(pk__in=[row.pk for row in listed]).delete()
            _report_ended(listed)
    others = Session.objects.filter(~Exists(UserSession.objects.filter(session_key=OuterRef("pk"))))
    while keys := list(others.values_list("pk", flat=True)[:BATCH]):
        ended += Session.objects.filter(pk__in=keys).delete()[0]
    return ended


def _restamp(account: Account) -> None:
    account.session_stamp = random_text(STAMP_LENGTH)
    Account.objects.filter(pk=account.pk).update(session_stamp=account.session_stamp)


# The library would query the database for each session, at every sign-in and on the page; here it is one query.


@receiver(user_logged_in)
def list_session(sender: Any, request: HttpRequest, user: Account, **kwargs: Any) -> None:
    """Add the session that has just started; its key is new (`django.contrib.auth.login`)."""
    longest = UserSession._meta.get_field("user_agent").max_length
    if request.session.session_key is None:  # someone was signed in here before, so Django has flushed the session
        request.session.create()
    request.session.setdefault(TAG, random_text(TAG_LENGTH))
    UserSession.objects.create(
        user=user,
        session_key=request.session.session_key,
        ip=get_adapter().get_client_ip(request),
        user_agent=user_agent(request)[:longest],
        data={TAG: request.session[TAG]},
    )
    request.session.pop(AFTER_ENDED, None)
    is_due(request.session.session_key or "")  # this has just stored that the session is active


@receiver(session_renewed)
def list_renewed(sender: Any, session: SessionStore, former: str, **kwargs: Any) -> None:
    """Keep a session with a new key in the list, with its tag."""
    UserSession.objects.filter(session_key=former).update(session_key=session.session_key)


@receiver(session_active)
def list_active(sender: Any, session: SessionStore, **kwargs: Any) -> None:
    """Store when a session in the list was last active, unless another process has just done so."""
    now = clock.now()
    stale = UserSession.objects.filter(
        session_key=session.session_key, last_seen_at__lt=now - timedelta(seconds=ACTIVE_EVERY)
    )
    stale.update(last_seen_at=now)


@receiver(session_flushed)
def report_flushed(sender: Any, session: SessionStore, ended: bool, **kwargs: Any) -> None:
    """Report the end of a session that is signed out, or in which someone else signs in.

    One that another request has just given a new key is ended under that key.
    """
    tag = session.get(TAG)
    if tag and ended:
        sessions_ended.send(sender=UserSession, account=None, tags=[tag], kept="")
    elif tag:
        for listed in UserSession.objects.filter(user=session[SESSION_KEY], data__tag=tag):
            end_listed_session(listed)


def valid_sessions(account: Account) -> list[UserSession]:
    """Return the person's valid sessions, the oldest first; invalid entries are deleted."""
    listed = list(UserSession.objects.filter(user=account).order_by("created_at"))
    keys = [entry.session_key for entry in listed]
    stored = _stored(keys)
    valid = {key for key, data in stored.items() if is_session_of(data, account)}
    # A sign-in that is running has listed its session, and stores at its end who is signed in.
    beginning = {key for key, data in stored.items() if SESSION_KEY not in data}
    if gone := [entry.pk for entry in listed if entry.session_key not in valid | beginning]:
        UserSession.objects.filter(pk__in=gone, session_key__in=keys).delete()  # not if it has just got a new key
    return [entry for entry in listed if entry.session_key in valid]


def _stored(keys: list[str]) -> dict[str, dict[str, Any]]:
    rows = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    return {row.session_key: row.get_decoded() for row in rows}


@dataclass(frozen=True)
class Described:
    """A session in the form of its page."""

    pk: int
    browser: str
    ip: str
    place: str
    began_at: datetime
    seen_at: datetime
    is_current: bool


def described_sessions(account: Account, current_key: str | None) -> list[Described]:
    """Return the person's valid sessions in words: the current one first, then by last activity."""
    rows = [_describe(entry, current_key) for entry in valid_sessions(account)]
    return sorted(rows, key=lambda row: (row.is_current, row.seen_at), reverse=True)


def newest_sessions(account: Account, most: int) -> list[Described]:
    """Return the valid ones of the person's `most` sessions that were active last, in words; changes nothing."""
    listed = list(UserSession.objects.filter(user=account).order_by("-last_seen_at")[:most])
    stored = _stored([entry.session_key for entry in listed])
    return [_describe(entry, None) for entry in listed if is_session_of(stored.get(entry.session_key, {}), account)]


def _describe(entry: UserSession, current_key: str | None) -> Described:
    return Described(
        pk=entry.pk,
        browser=browser_name(entry.user_agent),
        ip=entry.ip,
        place=place_of(entry.ip),
        began_at=entry.created_at,
        seen_at=entry.last_seen_at,
        is_current=entry.session_key == current_key,
    )


class AuthenticationMiddleware(DjangoAuthenticationMiddleware):
    """Django's AuthenticationMiddleware, but a session keeps its key when SECRET_KEY is rotated.

    Django gives a session that was signed with one of SECRET_KEY_FALLBACKS a new key. A browser often sends several
    requests at once, and the others would lose their session. No key depends on SECRET_KEY, so the old one stays safe.
    """

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        request.user = SimpleLazyObject(lambda: _person_of(request))  # type: ignore[assignment]


def _person_of(request: HttpRequest) -> Any:
    session = request.session
    assert isinstance(session, SessionStore)
    session.is_being_checked = True
    try:
        return get_user(request)
    finally:
        session.is_being_checked = False


def is_session_of(session: dict[str, Any], account: Account) -> bool:
    """Return whether the person is signed in to a session; the rule is that of `django.contrib.auth.get_user`."""
    return session.get(SESSION_KEY) == str(account.pk) and is_current(session.get(HASH_SESSION_KEY, ""), account)
