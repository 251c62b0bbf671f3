"""Several accounts in one browser: each has its own session, and a cookie holds the keys of the others."""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from allauth.account.signals import user_logged_in
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, SESSION_KEY, logout, user_logged_out
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.models import Session
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token
from django.utils import timezone

from accounts.models import Account
from accounts.sessions.browser_sessions import end_sessions_by_key, is_session_of
from core.credentials import digest, random_text
from core.http.sessions import KEY_LENGTH, SessionStore, hash_of, is_key

NAME = "openport_accounts"
MAX_KEYS = 5
_BETWEEN = "."


def cookie_name() -> str:
    """Return the cookie's name: over HTTPS with the prefix that keeps other hosts of the domain from setting it."""
    return f"__Host-{NAME}" if settings.SESSION_COOKIE_SECURE else NAME


def read_keys(request: HttpRequest) -> list[str]:
    """Return the keys without duplicates: as this request has changed them, or as the browser sent them."""
    changed: list[str] | None = getattr(request, "other_session_keys", None)
    if changed is not None:
        return list(changed)
    sent = request.COOKIES.get(cookie_name(), "")[: MAX_KEYS * (KEY_LENGTH + len(_BETWEEN))]
    return list(dict.fromkeys(filter(is_key, sent.split(_BETWEEN))))


def write_keys(request: HttpRequest, keys: Iterable[str]) -> None:
    """Store these keys, and no others, in the browser with the response to this request."""
    request.other_session_keys = list(keys)[:MAX_KEYS]  # type: ignore[attr-defined]  # for set_cookie


def set_cookie(request: HttpRequest, response: HttpResponse) -> None:
    """Send the cookie with the response if the request has changed it."""
    keys: list[str] | None = getattr(request, "other_session_keys", None)
    if keys:
        response.set_cookie(
            cookie_name(),
            _BETWEEN.join(keys),
            max_age=settings.SESSION_COOKIE_AGE,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    elif keys is not None and cookie_name() in request.COOKIES:
        response.delete_cookie(cookie_name(), samesite="Lax")


# The session cookie holds the key of the current account's session; this cookie holds the keys of the others. A key
# counts if Django accepts its session, and only together with sessions of the same browser: all of them hold the same
# random mark. A key that someone smuggles into the cookie is therefore ignored.

MARK = "browser"  # key in the session
MARK_LENGTH = 22
# The most accounts that can be signed in at a time: the others, and the current one.
MOST = MAX_KEYS + 1


class TooManyAccounts(Exception):
    """No account can be added before another one is signed out."""


@dataclass(frozen=True)
class OtherAccount:
    """Another account that is signed in in this browser, in the session with this key."""

    key: str
    mark: str
    account: Account

    @property
    def reference(self) -> str:
        return reference_of(self.key)


def reference_of(key: str) -> str:
    """Return the name of a session in forms and URLs, which reveals neither its key nor the account's id.

    The key is random, so its hash needs no secret, and open forms stay valid when SECRET_KEY is rotated.
    """
    return digest(f"accounts.sessions.browser_accounts {key}")[:32]


def has_others(request: HttpRequest) -> bool:
    """Return whether other accounts may be signed in; this runs no query, and their sessions may have ended."""
    return bool(read_keys(request))


def present_reference(request: HttpRequest) -> str | None:
    """Return the reference of the current account's session, None if nobody is signed in."""
    return reference_of(_key_of(request)) if request.user.is_authenticated else None


def other_accounts(request: HttpRequest) -> list[OtherAccount]:
    """Return the other accounts, the latest first, in two statements; invalid keys are removed from the cookie."""
    keys = read_keys(request)
    if not keys:
        return []
    signed_in, mark = request.user.is_authenticated, request.session.get(MARK)
    valid = _valid(request, keys)
    if not signed_in and valid:
        mark = valid[0].mark
    others = {each.account.pk: each for each in reversed(valid) if each.mark == mark and each.account != request.user}
    found = [each for each in valid if others.get(each.account.pk) is each]
    if [each.key for each in found] != keys:
        write_keys(request, (each.key for each in found))
    return found


def find_other(others: Iterable[OtherAccount], reference: str) -> OtherAccount | None:
    """Return the account with this reference, None if there is none."""
    return next((each for each in others if each.reference == reference), None)


def _valid(request: HttpRequest, keys: list[str]) -> list[OtherAccount]:
    """Return the keys' accounts; each session is checked as in `django.contrib.auth.get_user`."""
    present = request.session.session_key
    hashes = {hash_of(key): key for key in keys if hash_of(key) != present}
    rows = Session.objects.filter(session_key__in=hashes, expire_date__gt=timezone.now())
    stored = {hashes[row.session_key]: row.get_decoded() for row in rows}
    ids = {data[SESSION_KEY] for data in stored.values() if SESSION_KEY in data}
    accounts = {str(each.pk): each for each in Account.objects.filter(pk__in=ids, is_active=True)}
    return [
        OtherAccount(key, data[MARK], account)
        for key in keys
        if (data := stored.get(key)) is not None
        and (account := accounts.get(data.get(SESSION_KEY, ""))) is not None
        and data.get(MARK)
        and data.get(BACKEND_SESSION_KEY) in settings.AUTHENTICATION_BACKENDS
        and is_session_of(data, account)
    ]


def switch(request: HttpRequest, chosen: OtherAccount, others: Iterable[OtherAccount]) -> None:
    """Make `chosen` the current account; the previous one becomes one of the others.

    Forms that were opened before are rejected from now on, because they belong to another account.
    """
    rest = [each.key for each in others if each.key != chosen.key]
    if request.user.is_authenticated:
        _keep_present(request, rest)
    else:
        request.session.flush()
        write_keys(request, rest)
    request.session = SessionStore.from_cookie(chosen.key)
    request.session.modified = True  # send its cookie again, so that it lasts as long as a new one
    request.user = chosen.account
    rotate_token(request)


def put_aside(request: HttpRequest) -> None:
    """Begin a session in which nobody is signed in; the current account becomes one of the others.

    Raises TooManyAccounts.
    """
    if request.user.is_authenticated:
        others = other_accounts(request)
        if len(others) >= MAX_KEYS:
            raise TooManyAccounts
        _keep_present(request, [each.key for each in others])
        request.session = SessionStore()
        request.user = AnonymousUser()
    else:
        request.session.flush()  # a sign-in that was not complete
    rotate_token(request)


def _key_of(request: HttpRequest) -> str:
    assert isinstance(request.session, SessionStore)
    assert request.session.cookie is not None
    return request.session.cookie


def _keep_present(request: HttpRequest, others: list[str]) -> None:
    if not request.session.get(MARK):
        request.session[MARK] = random_text(MARK_LENGTH)
    with contextlib.suppress(UpdateError):  # the session has just ended; its key is removed when it is read
        request.session.save()
    write_keys(request, [_key_of(request), *others])


def sign_out_other(request: HttpRequest, ending: OtherAccount) -> None:
    """End the session of one of the other accounts."""
    _end(request, [ending])
    write_keys(request, [key for key in read_keys(request) if key != ending.key])


def sign_out_all(request: HttpRequest) -> None:
    """End the sessions of all accounts in this browser."""
    _end(request, other_accounts(request))
    write_keys(request, [])
    logout(request)


def _end(request: HttpRequest, ending: list[OtherAccount]) -> None:
    if not ending:
        return
    end_sessions_by_key([hash_of(each.key) for each in ending])
    for each in ending:
        user_logged_out.send(sender=Account, request=request, user=each.account)


@receiver(user_logged_in)
def join_browser(sender: Any, request: HttpRequest, user: Account, **kwargs: Any) -> None:
    """Add a session that has just started to the others of its browser; an older one of the same account ends."""
    keys = read_keys(request)
    if not keys:
        return
    valid = _valid(request, keys)
    if valid and not request.session.get(MARK):
        request.session[MARK] = valid[0].mark
    valid = [each for each in valid if each.mark == request.session.get(MARK)]
    _end(request, [each for each in valid if each.account == user])
    write_keys(request, (each.key for each in valid if each.account != user))


def other_accounts_context(request: HttpRequest) -> dict[str, bool]:
    """Return whether other accounts may be signed in in this browser, for links to the account chooser."""
    return {"has_other_accounts": has_others(request)}
