"""Session engine and middleware: the cookie holds a random key, the database only its hash.

What Django and its libraries call `session_key` is the hash here, in both tables that keep one. So nobody is signed in
by a copy of the database: what stands in it is not what a cookie has to hold.

A session in which somebody is signed in ends SESSION_SECONDS after it was last saved, or earlier once nobody has used
it for SESSION_IDLE_SECONDS; after the admin was opened in it, for ADMIN_IDLE_SECONDS. Both are in the row's
`expire_date`, which every look-up compares anyway. Activity moves that date on in a statement of its own, at most once
in ACTIVE_EVERY seconds, which leaves alone what other requests store in the session (docs/accounts.md#sessions).

A session in which nobody is signed in ends soon, whatever it holds. Strangers make such sessions with every request
that waits for a sign-in, and with every step of a sign-up or a forgotten password; none of these takes longer than
ANONYMOUS_SESSION_SECONDS.
"""

import base64
import hashlib
import logging
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.middleware import SessionMiddleware as DjangoSessionMiddleware
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from core.credentials import random_text
from core.database.prepared_queries import PreparedQuery

log = logging.getLogger(__name__)

# In a session: until when it lasts if it is used (seconds since 1970), and that the admin was opened in it.
LASTS_UNTIL, IN_ADMIN = "lasts_until", "in_admin"
# Activity is stored once in so many seconds, so an idle session ends up to this much early.
ACTIVE_EVERY = 600

KEY_LENGTH = 32  # 190 random bits
_KEY = re.compile(rf"[A-Za-z0-9]{{{KEY_LENGTH}}}")
# What the libraries' columns hold. Of the hash's 43 characters, these carry 240 bits.
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
    """Return the moment by which sessions end."""
    return timezone.now()


def is_key(text: str) -> bool:
    """Return whether a text has the form of a cookie's key."""
    return _KEY.fullmatch(text) is not None


def hash_of(key: str) -> str:
    """Return the hash of a cookie's key as stored: SHA-256 in base64url, cut to 40 characters."""
    return base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest()).decode()[:HASH_LENGTH]


class SessionStore(db.SessionStore):
    """Django's sessions in the database, under hashes (SESSION_ENGINE).

    `SessionStore(session_key)` finds a session by its hash, as the list of a person's sessions does; `from_cookie` by
    what a browser sent.
    """

    _made: str | None = None
    _stored_end: datetime | None = None

    @classmethod
    def from_cookie(cls, value: str | None) -> "SessionStore":
        """Return the session of a cookie; a new one for a value without the form of a key, such as a hash."""
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

    # Every page loads its session and many save it: what Django's own does in more statements, or compiles each time.

    def load(self) -> dict[str, Any]:
        for data, end in _STORED.rows(self.session_key or ""):
            found: dict[str, Any] = self.decode(data)
            if end > now():
                self._stored_end = end
                return found
        self._session_key = None
        return {}

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        if SESSION_KEY in data:
            data = data | {LASTS_UNTIL: int(super().get_expiry_date().timestamp())}
        return super().create_model_instance(data)

    def get_expiry_date(self, **kwargs: Any) -> datetime:
        """Return when the row ends. The browser's cookie may last longer: activity does not send it again."""
        end: datetime = super().get_expiry_date(**kwargs)
        return min(end, now() + timedelta(seconds=self._idle_seconds)) if SESSION_KEY in self else end

    @property
    def _idle_seconds(self) -> int:
        idle: int = settings.SESSION_IDLE_SECONDS
        return min(idle, settings.ADMIN_IDLE_SECONDS) if IN_ADMIN in self else idle

    def note_activity(self) -> None:
        """Move the end of a session that was loaded, and is not saved in this request, to a full idle time from now."""
        if self._stored_end is None or SESSION_KEY not in self or LASTS_UNTIL not in self:
            return
        last = datetime.fromtimestamp(self[LASTS_UNTIL], UTC)
        end = min(last, now() + timedelta(seconds=self._idle_seconds))
        if (end - self._stored_end).total_seconds() < ACTIVE_EVERY:
            return
        try:
            self.model.objects.filter(session_key=self.session_key, expire_date__lt=end).update(expire_date=end)
        except DatabaseError as error:  # the page is right without it
            log.warning("The activity of a session can't be stored: %s", error)

    def save(self, must_create: bool = False) -> None:
        if must_create or self.session_key is None:
            super().save(must_create)
            return
        data = self.create_model_instance(self._session)  # type: ignore[attr-defined]  # missing in the stubs
        changes = {"session_data": data.session_data, "expire_date": data.expire_date}
        try:
            saved = self.model.objects.filter(session_key=data.session_key).update(**changes)
        except DatabaseError as error:
            raise UpdateError from error
        if not saved:
            raise UpdateError  # ended meanwhile

    def cycle_key(self) -> None:
        """Give the session a new key; the former one is worth nothing from then on."""
        data, former = self._session, self.session_key  # type: ignore[attr-defined]  # missing in the stubs
        if former is None:
            super().cycle_key()
            return
        # Django stores a second session and deletes the first.
        self._session_key = self._get_new_session_key()
        row = self.create_model_instance(data)
        renewed = {"session_key": row.session_key, "session_data": row.session_data, "expire_date": row.expire_date}
        if not self.model.objects.filter(session_key=former).update(**renewed):
            if SESSION_KEY in data:
                raise SessionInterrupted("The session ended while its key was renewed.")
            self.create()  # nobody is signed in yet
        self._session_cache = data
        self.modified = True

    def delete(self, session_key: str | None = None) -> None:
        if ending := session_key or self.session_key:
            self.model.objects.filter(session_key=ending).delete()

    def get_session_cookie_age(self) -> int:
        age: int = settings.SESSION_COOKIE_AGE if SESSION_KEY in self else settings.ANONYMOUS_SESSION_SECONDS
        return age

    def set_expiry(self, value: Any) -> None:
        # django-allauth sets the usual age when a password was right, though a second step or a code from a mail may
        # be missing yet; noted in the session, it would outlast the rule above.
        super().set_expiry(None if value == settings.SESSION_COOKIE_AGE else value)

    def _get_new_session_key(self) -> str:
        # Django asks here for the key of each row that it makes: at sign-in, after sign-out, with a new password.
        self._made = random_text(KEY_LENGTH)
        return hash_of(self._made)


class SessionMiddleware(DjangoSessionMiddleware):
    """Django's SessionMiddleware, but the cookie holds the key instead of the stored hash."""

    def process_request(self, request: HttpRequest) -> None:
        request.session = SessionStore.from_cookie(request.COOKIES.get(settings.SESSION_COOKIE_NAME))

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response = super().process_response(request, response)
        session = request.session
        if session.accessed and not session.modified and isinstance(session, SessionStore):
            session.note_activity()
        sent = response.cookies.get(settings.SESSION_COOKIE_NAME)
        if sent is not None and sent.value:  # an empty one deletes the cookie
            assert isinstance(request.session, SessionStore)
            assert request.session.cookie is not None
            response.cookies[settings.SESSION_COOKIE_NAME] = request.session.cookie
        return response
