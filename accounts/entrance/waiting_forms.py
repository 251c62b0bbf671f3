"""Forms that wait in the session until the person who sent them has reauthenticated (docs/sign-in.md).

django-allauth would store the whole request: with the session keys in its cookies, and behind granian also with the
environment of the process, which contains its keys. A copy of the sessions' table could then sign in and decrypt.
"""

from allauth.core.exceptions import ReauthenticationRequired
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from accounts.allauth_internals import STATE_SESSION_KEY, serialize_request
from accounts.entrance.reauthentication import url

# What a view needs of the request when the form continues: where it was sent, and by whom.
_KEPT = (
    "REQUEST_METHOD",
    "SCRIPT_NAME",
    "PATH_INFO",
    "QUERY_STRING",
    "CONTENT_TYPE",
    "SERVER_NAME",
    "SERVER_PORT",
    "SERVER_PROTOCOL",
    "REMOTE_ADDR",
    "HTTP_HOST",
    "HTTP_USER_AGENT",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_PROTO",
    "CSRF_COOKIE",  # the browser's CSRF token, worth nothing alone: with a new one, forms in other tabs would fail
)


def reauthenticate(request: HttpRequest, exception: Exception) -> HttpResponse | None:
    """Redirect people who have to reauthenticate, and store the form that they sent; None for other exceptions."""
    if not isinstance(exception, ReauthenticationRequired):
        return None
    if request.method == "POST" and request.user.is_authenticated:
        request.session[STATE_SESSION_KEY] = {"request": _stored(request)}
    else:
        # An earlier form was given up. It must not be sent because the person opens its page again.
        request.session.pop(STATE_SESSION_KEY, None)
    return HttpResponseRedirect(url(request, request.get_full_path()))


def _stored(request: HttpRequest) -> str:
    """Return the request in django-allauth's form, without what would grant access to someone who reads it."""
    complete = request.META
    request.META = {name: complete[name] for name in _KEPT if name in complete}
    try:
        return str(serialize_request(request))
    finally:
        request.META = complete
