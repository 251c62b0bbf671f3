"""URLs that only accept a POST of a form: what a browser gets there otherwise, and where people go after sign-in.

Browsers send a GET to a form's URL when people reload it, open it from their history, or sign in again after their
session has ended. The error page links to the page with the form.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.urls import NoReverseMatch, Resolver404, resolve, reverse

from core.http.direct_dispatch import is_direct
from core.http.error_pages import method_not_allowed

View = Callable[..., HttpResponseBase]


def post_only(form_at: str = "") -> Callable[[View], View]:
    """Decorate a view that only accepts POST by signed-in people; others sign in and continue on the form's page.

    `form_at` is the URL name of that page. Without it, the page is the nearest one above the view's own URL.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_login(parent_page(request))
            if request.method != "POST":
                return HttpResponseNotAllowed(["POST"])
            return view(request, *args, **kwargs)

        guarded.form_at = form_at  # type: ignore[attr-defined]
        return guarded

    return decorate


def parent_page(request: HttpRequest) -> str:
    """Return the path of the page with the form of a POST-only URL: "/" if no page is above it."""
    match = request.resolver_match
    form_at = getattr(match.func, "form_at", "") if match else ""
    if match and form_at:
        given = list(match.kwargs.values())
        for number in range(len(given), -1, -1):
            try:
                return reverse(form_at, args=given[:number])
            except NoReverseMatch:
                continue
    path = request.path_info.rstrip("/")
    while "/" in path:
        path = path.rpartition("/")[0]
        for candidate in (path, f"{path}/"):
            if candidate and _is_page(candidate):
                return candidate
    return "/"


def _is_page(path: str) -> bool:
    try:
        return not hasattr(resolve(path).func, "form_at")
    except Resolver404:
        return False


class WrongMethodMiddleware:
    """Gives empty 405 responses of pages a body that says where to go; responses for programs already have one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.status_code != 405 or response.streaming or is_direct(request.path_info):
            return response
        if getattr(response, "content", b"") or not request.accepts("text/html"):
            return response
        page = method_not_allowed(request, parent_page(request) if request.method in ("GET", "HEAD") else request.path)
        page["Allow"] = response.get("Allow", "")
        return page
