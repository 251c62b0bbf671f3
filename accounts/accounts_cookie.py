"""The cookie of a browser's other accounts: the keys of their sessions, beside the session cookie of the present one.

Nothing in it is believed: accounts/browser_accounts.py looks each key up, and drops what is no session by now.
"""

from collections.abc import Callable, Iterable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from devportal.lib.sessions import KEY_LENGTH, is_key

NAME = "openport_accounts"
MAX_KEYS = 5
_BETWEEN = "."


def cookie_name() -> str:
    """Return the cookie's name: over HTTPS with the prefix that keeps other hosts of the domain from setting it."""
    return f"__Host-{NAME}" if settings.SESSION_COOKIE_SECURE else NAME


def read_keys(request: HttpRequest) -> list[str]:
    """Return the keys, each once: as this request has left them, or as the browser sent them."""
    changed: list[str] | None = getattr(request, "other_session_keys", None)
    if changed is not None:
        return list(changed)
    sent = request.COOKIES.get(cookie_name(), "")[: MAX_KEYS * (KEY_LENGTH + len(_BETWEEN))]
    return list(dict.fromkeys(filter(is_key, sent.split(_BETWEEN))))


def write_keys(request: HttpRequest, keys: Iterable[str]) -> None:
    """Have the answer to this request give the browser these keys, and no others."""
    request.other_session_keys = list(keys)[:MAX_KEYS]  # type: ignore[attr-defined]  # for the middleware


class AccountsCookieMiddleware:
    """Sends the cookie with the answer, where a request has changed it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
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
        return response
