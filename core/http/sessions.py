"""Session engine and middleware: the cookie holds a random key, and the database only its hash.

Django and its libraries call it `session_key`, but in both tables that store it, it is the hash. A copy of the database
therefore signs nobody in: the stored values can't be used as cookies.

A session in which someone is signed in ends SESSION_SECONDS after it was last saved, or after SESSION_IDLE_SECONDS
without use (ADMIN_IDLE_SECONDS once the admin was opened in it). Both are stored in the row's `expire_date`, which
every look-up compares anyway. Activity moves that date in a separate statement, at most once in ACTIVE_EVERY seconds,
which does not overwrite what other requests store in the session (docs/accounts.md#sessions).

Requests of one browser run at the same time: several tabs, or a script of a page that asks for a passkey while the
person submits a form. So a request does not store the session as it read it, but what it changed. A sign-in is the
exception: it gives the session a new key, and stores it as this request has it. What django-allauth stores about a
sign-in that is not complete is one value: a code that was mailed for one account must not meet the sign-in of another.

A session in which nobody is signed in ends soon, whatever it contains. Strangers create such sessions with every
request that waits for a sign-in, and with every step of a sign-up or password reset; none of these takes longer than
ANONYMOUS_SESSION_SECONDS.
"""

import base64
import hashlib
import logging
import re
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.middleware import SessionMiddleware as DjangoSessionMiddleware
from django.db import DatabaseError, transaction
from django.dispatch import Signal
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from core import clock
from core.credentials import random_text
from core.database.prepared_queries import PreparedQuery

log = logging.getLogger(__name__)

# Keys in a session: its latest end (seconds since 1970), whether the admin was opened in it, and whether the session
# before it in this browser has ended.
LASTS_UNTIL, IN_ADMIN, AFTER_ENDED = "lasts_until", "in_admin", "after_ended"
# Start of the keys of a sign-in that is not complete, django-allauth's and those of the accounts layer.
OF_A_SIGN_IN = "account_"
# Keys of dictionaries whose entries consist of separate fields: two requests may each change one of the same entry.
# Apps add their keys when they are ready.
MERGED_BY_FIELD: set[str] = set()
# Activity is stored once in this many seconds, so an idle session may end this much earlier.
ACTIVE_EVERY = 600
# The number of sessions for which a process remembers that; a session beyond it costs an unnecessary statement.
REMEMBERED = 50_000
_stored_at: dict[str, float] = {}

KEY_LENGTH = 32  # 190 random bits
_KEY = re.compile(rf"[A-Za-z0-9]{{{KEY_LENGTH}}}")
# The libraries' columns hold 40 characters. Of the hash's 43 characters, these carry 240 bits.
HASH_LENGTH = 40

_STORED = PreparedQuery(
    ("session_key",),
    lambda session_key: (
        db.SessionStore.get_model_class()
        .objects.filter(session_key=session_key)
        .values_list("session_data", "expire_date")
    ),
)


def now() -> datetime:
    """Return the time that the ends of sessions are compared with."""
    return timezone.now()


def is_key(text: str) -> bool:
    """Return whether a text has the form of a cookie's key."""
    return _KEY.fullmatch(text) is not None


def hash_of(key: str) -> str:
    """Return the hash of a cookie's key as stored: SHA-256 in base64url, cut to 40 characters."""
    return base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest()).decode()[:HASH_LENGTH]


# Sent with `session` while a session in which someone is signed in is flushed, inside the same transaction. `ended` is
# False if no row with its key was left to delete: it has ended before, or another request has just given it a new key.
session_flushed = Signal()
# Sent with `session` and the hash of its `former` key when a session in which someone is signed in gets a new key.
session_renewed = Signal()
# Sent with `session` when a session of a signed-in person is used, at most once in ACTIVE_EVERY seconds per process.
session_active = Signal()


class SessionStore(db.SessionStore):
    """Django's sessions in the database, stored under hashes (SESSION_ENGINE).

    `SessionStore(session_key)` finds a session by its hash, as the list of a person's sessions does; `from_cookie`
    finds it by the value that a browser sent.
    """

    # True while Django checks who is signed in: `cycle_key` does nothing, and if the check fails, `flush` ends the
    # session only under the key of this request. Under a new one, it is valid.
    is_being_checked = False
    _made: str | None = None
    _stored_end: datetime | None = None
    _stored_data: str | None = None  # as this object read or wrote it last

    @classmethod
    def from_cookie(cls, value: str | None) -> "SessionStore":
        """Return the session of a cookie; a new one if the value is not a valid key, for example a hash."""
        if value is None or not is_key(value):
            return cls()
        session = cls(hash_of(value))
        session._made = value
        return session

    @property
    def cookie(self) -> str | None:
        """The key for the browser's cookie; None if the session was loaded by its hash."""
        if self._made is None or hash_of(self._made) != self.session_key:
            return None
        return self._made

    # Every page loads its session and many save it. Django uses more statements for this, or compiles them each time.

    def load(self) -> dict[str, Any]:
        for data, end in _STORED.rows(self.session_key or ""):
            found: dict[str, Any] = self.decode(data)
            if end > now():
                self._stored_end, self._stored_data = end, data
                return found
        self._session_key = None
        # This alone is not stored, so a stale cookie makes no row. The sign-in page says that the session has ended.
        return {AFTER_ENDED: True} if self._made is not None else {}

    @property
    def follows_ended(self) -> bool:
        """Whether this browser's session has ended, by its time or from elsewhere, and nobody signed in since."""
        return AFTER_ENDED in self

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        if SESSION_KEY in data:
            data = data | {LASTS_UNTIL: int(super().get_expiry_date().timestamp())}
        return super().create_model_instance(data)

    def get_expiry_date(self, **kwargs: Any) -> datetime:
        """Return when the row expires. The browser's cookie may last longer, because activity does not renew it."""
        end: datetime = super().get_expiry_date(**kwargs)
        return min(end, now() + timedelta(seconds=self._idle_seconds)) if SESSION_KEY in self else end

    @property
    def _idle_seconds(self) -> int:
        idle: int = settings.SESSION_IDLE_SECONDS
        return min(idle, settings.ADMIN_IDLE_SECONDS) if IN_ADMIN in self else idle

    def note_activity(self) -> None:
        """Note that a session of a signed-in person is used, if this process has not just done so."""
        if SESSION_KEY not in self or not self.session_key or not is_due(self.session_key):
            return
        try:
            self._extend()
            session_active.send(sender=SessionStore, session=self)
        except DatabaseError as error:  # the page is correct without it
            log.warning("The activity of a session can't be stored: %s", error)

    def _extend(self) -> None:
        """Extend a session that was loaded, but is not saved in this request, to a full idle time from now."""
        if self._stored_end is None or self.modified:
            return
        last = datetime.fromtimestamp(self[LASTS_UNTIL], UTC)
        end = min(last, now() + timedelta(seconds=self._idle_seconds))
        if (end - self._stored_end).total_seconds() < ACTIVE_EVERY:
            return
        # A request that has stored something meanwhile has also stored the end, which may be an earlier one.
        unchanged = self.model.objects.filter(session_key=self.session_key, session_data=self._stored_data)
        unchanged.filter(expire_date__lt=end).update(expire_date=end)

    def save(self, must_create: bool = False) -> None:
        if must_create or self.session_key is None:
            super().save(must_create)
            self._stored_data = None
            return
        try:
            read = self._stored_data
            saved = self._save_over(read) or (read is not None and self._save_merged(read))
        except DatabaseError as error:
            raise UpdateError from error
        if not saved:
            raise UpdateError  # the session has ended meanwhile

    def _save_over(self, stored: str | None) -> bool:
        """Store the session if the database still has it as `stored`; in any case if that is None."""
        row = self.create_model_instance(self._session)  # type: ignore[attr-defined]  # missing in the stubs
        rows = self.model.objects.filter(session_key=self.session_key)
        if stored is not None:
            rows = rows.filter(session_data=stored)
        if not rows.update(session_data=row.session_data, expire_date=row.expire_date):
            return False
        self._stored_data = row.session_data
        return True

    def _save_merged(self, read: str) -> bool:
        """Store what was changed since `read` in what another request has stored; return False if the session ended."""
        with transaction.atomic():
            stored = self._lock()
            if stored is None:
                return False
            self._take_in(stored, read)
            return self._save_over(None)

    def _lock(self) -> str | None:
        """Lock the session's row and return its data; None if the session has ended."""
        rows = self.model.objects.select_for_update().filter(session_key=self.session_key)
        data: str | None = rows.values_list("session_data", flat=True).first()
        return data

    def _take_in(self, stored: str, read: str) -> None:
        """Add what other requests have stored since `read` to this session."""
        self._session_cache = _merged(self.decode(stored), self.decode(read), self._session)  # type: ignore[attr-defined]

    def cycle_key(self) -> None:
        """Give the session a new key; the old key is no longer valid."""
        if self.is_being_checked:
            return
        if SESSION_KEY not in self:
            self._renew()
            return
        with transaction.atomic():
            former, read = self.session_key, self._stored_data
            stored = self._lock()
            if stored is not None and read is not None:
                self._take_in(stored, read)
            self._renew()
            session_renewed.send(sender=SessionStore, session=self, former=former)

    def _renew(self) -> None:
        data, former = self._session, self.session_key  # type: ignore[attr-defined]  # missing in the stubs
        if former is None:
            super().cycle_key()
            return
        # Django would store a second session and delete the first.
        self._session_key = self._get_new_session_key()
        row = self.create_model_instance(data)
        renewed = {"session_key": row.session_key, "session_data": row.session_data, "expire_date": row.expire_date}
        if not self.model.objects.filter(session_key=former).update(**renewed):
            if SESSION_KEY in data:
                raise SessionInterrupted("The session ended while its key was renewed.")
            self.create()  # nobody is signed in yet
        self._session_cache, self._stored_data = data, row.session_data
        self.modified = True

    def flush(self) -> None:
        """Delete the session: at sign-out, and when someone else signs in."""
        if SESSION_KEY not in self:
            super().flush()
            return
        with transaction.atomic():
            # First: this waits for codes that are being issued in this session (`hold_session` in
            # accounts/sessions/browser_sessions.py).
            ended, _ = self.model.objects.filter(session_key=self.session_key).delete()
            if ended or not self.is_being_checked:
                session_flushed.send(sender=SessionStore, session=self, ended=bool(ended))
            super().flush()
        if self.is_being_checked and not ended:  # as `load` returns it; the browser may have the cookie of the new key
            self._session_cache, self.modified = {AFTER_ENDED: True}, False

    def delete(self, session_key: str | None = None) -> None:
        if ending := session_key or self.session_key:
            self.model.objects.filter(session_key=ending).delete()

    def get_session_cookie_age(self) -> int:
        age: int = settings.SESSION_COOKIE_AGE if SESSION_KEY in self else settings.ANONYMOUS_SESSION_SECONDS
        return age

    def set_expiry(self, value: Any) -> None:
        # django-allauth sets the usual age after a correct password, although two-step verification or a code from a
        # mail may still be missing; stored in the session, that age would override the short life of such sessions.
        super().set_expiry(None if value == settings.SESSION_COOKIE_AGE else value)

    def _get_new_session_key(self) -> str:
        # Django calls this for the key of each row that it creates: at sign-in, after sign-out, with a new password.
        self._made = random_text(KEY_LENGTH)
        return hash_of(self._made)


def is_due(session_key: str) -> bool:
    """Return whether this process should store that a session is used, and remember that it does."""
    seconds = clock.now().timestamp()
    if seconds - _stored_at.get(session_key, 0) < ACTIVE_EVERY:
        return False
    if len(_stored_at) >= REMEMBERED:
        _stored_at.clear()
    _stored_at[session_key] = seconds
    return True


def _merged(stored: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return `stored` with a request's changes, where `stored` is what another request has stored meanwhile.

    While nobody is signed in, the keys of a sign-in are taken from one request.
    """
    result, sign_in = _with_changes(stored, before, after), _sign_in_of(after)
    if SESSION_KEY in stored or sign_in == _sign_in_of(before):
        return result
    return {key: value for key, value in result.items() if not key.startswith(OF_A_SIGN_IN)} | sign_in


def _sign_in_of(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key.startswith(OF_A_SIGN_IN)}


def _with_changes(
    stored: dict[str, Any], before: dict[str, Any], after: dict[str, Any], *, by_field: bool = False
) -> dict[str, Any]:
    """Return `stored` with the changes that lead from `before` to `after`.

    Values are replaced as a whole, since their parts belong together. Only in a dictionary of dictionaries, such as the
    requests that wait for a sign-in, is each entry a separate value; with `by_field`, each field of an entry is one.
    """
    result = dict(stored)
    for key in before | after:
        if key in before and key in after and before[key] == after[key]:
            continue
        parts = [found.get(key, {}) for found in (stored, before, after)]
        if by_field and all(key in found for found in (stored, before, after)):
            changed: Any = _with_changes(*parts)
        elif all(isinstance(part, dict) and all(isinstance(entry, dict) for entry in part.values()) for part in parts):
            changed = _with_changes(*parts, by_field=key in MERGED_BY_FIELD)
        else:
            changed = after.get(key)
        if changed or key in after:
            result[key] = changed
        else:
            result.pop(key, None)
    return result


class SessionMiddleware(DjangoSessionMiddleware):
    """Django's SessionMiddleware, but the cookie holds the key instead of the stored hash."""

    def process_request(self, request: HttpRequest) -> None:
        request.session = SessionStore.from_cookie(request.COOKIES.get(settings.SESSION_COOKIE_NAME))

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response = super().process_response(request, response)
        session = request.session
        if session.accessed and isinstance(session, SessionStore):
            session.note_activity()
            if not session.modified and session.session_key is None and session.follows_ended:
                self._forget(response)
        sent = response.cookies.get(settings.SESSION_COOKIE_NAME)
        if sent is not None and sent.value:  # an empty one deletes the cookie
            assert isinstance(request.session, SessionStore)
            assert request.session.cookie is not None
            response.cookies[settings.SESSION_COOKIE_NAME] = request.session.cookie
        return response

    def _forget(self, response: HttpResponse) -> None:
        """Delete the cookie of a session that has ended, but not with a redirect: the sign-in page tells of its end."""
        if response.status_code != HTTPStatus.FOUND:
            response.delete_cookie(settings.SESSION_COOKIE_NAME, path=settings.SESSION_COOKIE_PATH, samesite="Lax")
