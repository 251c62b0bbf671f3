"""Known browsers: they signed in to an account before, and strangers can't lock them out (docs/sign-in.md#limits).

The cookie holds an entry for each of the last few accounts: the time, a random id, and a MAC over both, the account and
its password's hash. An entry does not reveal the account, and a new password makes it invalid.
"""

import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from allauth.account.signals import password_changed, password_set, user_logged_in
from allauth.account.utils import filter_users_by_email
from django.conf import settings
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

from accounts.models import Account
from core import clock
from core.credentials import random_text

COOKIE = "openport_known"
PATH = "/account/"
ACCOUNTS = 5
DAY = 24 * 3600
_SEPARATOR, _BETWEEN = ".", "|"


@dataclass(frozen=True)
class KnownBrowser:
    """One sign-in of this browser: `id` stays the same from one sign-in to the next."""

    id: str
    at: int
    mac: str

    def is_of(self, account: Account) -> bool:
        """Return whether this is an unexpired sign-in to `account` with its current password."""
        is_recent = 0 <= clock.timestamp() - self.at <= settings.KNOWN_BROWSER_DAYS * DAY
        keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
        return is_recent and any(hmac.compare_digest(self.mac, _mac(account, self.id, self.at, key)) for key in keys)

    def __str__(self) -> str:
        return _SEPARATOR.join((self.id, str(self.at), self.mac))


def _mac(account: Account, entry_id: str, at: int, key: str | None = None) -> str:
    """Return the MAC of an entry, with SECRET_KEY unless `key` is one of its fallbacks."""
    signed = f"{account.pk} {account.password} {entry_id} {at}"
    return salted_hmac("accounts.sessions.known_browsers", signed, secret=key, algorithm="sha256").hexdigest()


def _entries(request: HttpRequest) -> Iterator[KnownBrowser]:
    for text in request.COOKIES.get(COOKIE, "").split(_BETWEEN)[:ACCOUNTS]:
        entry_id, _, rest = text.partition(_SEPARATOR)
        at, _, mac = rest.partition(_SEPARATOR)
        if at.isascii() and at.isdigit() and len(at) <= 12 and mac.isascii():
            yield KnownBrowser(entry_id, int(at), mac)


def find_known_browser(request: HttpRequest, account: Account) -> str:
    """Return the id of this browser for an account, "" if it is not known to the account."""
    return next((entry.id for entry in _entries(request) if entry.is_of(account)), "")


def find_known_browser_by_login(request: HttpRequest, login: str) -> str:
    """Return the id of this browser for the account that signs in as `login`, "" if there is none.

    Only browsers that signed in to some account cause a query, so the response time tells strangers nothing.
    """
    if not any(_entries(request)):
        return ""
    accounts = filter_users_by_email(login, prefer_verified=True)
    return next((known for account in accounts if (known := find_known_browser(request, account))), "")


@receiver([user_logged_in, password_changed, password_set])
def record_browser(sender: Any, request: HttpRequest, user: Account, **kwargs: Any) -> None:
    request.known_to = user  # type: ignore[attr-defined]  # for set_cookie


def set_cookie(request: HttpRequest, response: HttpResponse) -> None:
    """Set the cookie in a browser that has just signed in, or whose account has just got a new password."""
    account: Account | None = getattr(request, "known_to", None)
    if account is None:
        return
    entry_id, at = find_known_browser(request, account) or random_text(22), clock.timestamp()
    new = KnownBrowser(entry_id, at, _mac(account, entry_id, at))
    others = [entry for entry in _entries(request) if entry.id != entry_id and not entry.is_of(account)]
    response.set_cookie(
        COOKIE,
        _BETWEEN.join(map(str, [new, *others][:ACCOUNTS])),
        max_age=settings.KNOWN_BROWSER_DAYS * DAY,
        path=PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
