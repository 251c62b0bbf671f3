"""Security headers of pages: a Content-Security-Policy without inline script or style."""

from collections.abc import Callable, Iterable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from devportal.lib.hosts import is_origin

_PAGES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
# The admin theme styles and scripts inline; its looser policy holds for /admin/ alone.
_ADMIN = _PAGES | {
    "script-src": "'self' 'unsafe-inline' 'unsafe-eval'",
    "style-src": "'self' 'unsafe-inline'",
}


def _policy(directives: dict[str, str]) -> str:
    return "; ".join(f"{name} {value}" for name, value in directives.items())


PAGE_POLICY = _policy(_PAGES)
ADMIN_POLICY = _policy(_ADMIN)


def policy_with(directive: str, origins: Iterable[str]) -> str:
    """Return the pages' policy, with more origins for one directive.

    What is no origin is left out: a `;` in it would begin another directive.
    """
    return _policy(_PAGES | {directive: " ".join(["'self'", *filter(is_origin, origins)])})


def policy_with_form_action(origins: Iterable[str]) -> str:
    """Return the pages' policy for a page whose form ends in a redirect to one of `origins`.

    Chromium checks `form-action` against every redirect that follows a form.
    """
    return policy_with("form-action", origins)


def protect(response: HttpResponse) -> HttpResponse:
    """Set all security headers on a response that no other middleware will see."""
    response.headers["Content-Security-Policy"] = PAGE_POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["X-Frame-Options"] = settings.X_FRAME_OPTIONS
    response.headers["Referrer-Policy"] = settings.SECURE_REFERRER_POLICY
    return response


class PageHeadersMiddleware:
    """Sets the Content-Security-Policy; views extend `form-action` by setting `request.form_action_origins`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path.startswith("/admin/"):
            policy = ADMIN_POLICY
        elif origins := getattr(request, "form_action_origins", None):
            policy = policy_with_form_action(origins)
        else:
            policy = PAGE_POLICY
        response.headers.setdefault("Content-Security-Policy", policy)
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        return response
