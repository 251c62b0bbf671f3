"""Django's test client, adapted to sessions whose cookie differs from the key in the database."""

from typing import Any

from django.conf import settings
from django.test import Client

from core.http.sessions import SessionStore

_set_cookies = Client._set_login_cookies  # type: ignore[attr-defined]


class Browser(Client):
    """Finds and creates sessions by the value of the cookie. Django's own client would use `session_key` for that."""

    @property
    def session(self) -> SessionStore:
        name = settings.SESSION_COOKIE_NAME
        if cookie := self.cookies.get(name):
            return SessionStore.from_cookie(cookie.value)
        made = SessionStore()
        made.save()
        self.cookies[name] = made.cookie or ""
        return made

    def _set_login_cookies(self, request: Any) -> None:
        _set_cookies(self, request)
        self.cookies[settings.SESSION_COOKIE_NAME] = request.session.cookie
