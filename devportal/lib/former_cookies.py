"""The move of the session and CSRF cookies to names with the prefix `__Host-` (docs/upgrades.md#cookie-names).

On HTTPS a browser takes a cookie of such a name only from this host itself, for all paths and without a Domain, so no
other host of the domain can plant one (RFC 6265bis, 4.1.3.2). A browser that still holds cookies of the former names
stays signed in: its session is accepted once and saved, which marks it and sends the cookie under the new name. A
marked session is never accepted under the former name, so nobody can plant a session there that began or was used
after the change. Sessions from before the change are gone SESSION_SECONDS later.
"""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

PREFIX = "__Host-"
MARK = "host_cookie"  # in a session that was sent under the new name


def former_name(name: str) -> str:
    """Return the former name of a cookie, "" for one that still has it (without HTTPS)."""
    return name.removeprefix(PREFIX) if name.startswith(PREFIX) else ""


def former_session_key(request: HttpRequest) -> str | None:
    """Return the session key that came under the former name, None if there is none or one came under the new name."""
    former = former_name(settings.SESSION_COOKIE_NAME)
    if not former or settings.SESSION_COOKIE_NAME in request.COOKIES:
        return None
    return request.COOKIES.get(former)


def marked(data: dict[str, Any]) -> dict[str, Any]:
    """Return the session's data with the mark, where cookies have the prefix."""
    return data | {MARK: True} if former_name(settings.SESSION_COOKIE_NAME) else data


def remove(request: HttpRequest, response: HttpResponseBase, *, session: bool) -> None:
    """Have the browser delete its cookies of the former names; that of the session only if `session` says so."""
    for name, wanted in ((settings.SESSION_COOKIE_NAME, session), (settings.CSRF_COOKIE_NAME, True)):
        former = former_name(name)
        if wanted and former in request.COOKIES:
            response.delete_cookie(former, samesite="Lax")
            response.cookies[former]["secure"] = True
