"""Pages for what went wrong outside of any view's own answers."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from devportal.lib import request_id


def _page(request: HttpRequest, status: int) -> HttpResponse:
    return render(request, f"{status}.html", {"request_id": request_id.current()}, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: the request can't be understood."""
    return _page(request, 400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: signed in, but not allowed."""
    return _page(request, 403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: no such page, or not for this person."""
    return _page(request, 404)


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """429 of the sign-in pages (allauth calls it, and sends no Retry-After of its own)."""
    response = _page(request, 429)
    response["Retry-After"] = "60"
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """500: rendered without context processors, which may be what failed."""
    from django.template.loader import render_to_string

    return HttpResponse(render_to_string("500.html", {"request_id": request_id.current()}), status=500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form that was open too long or came from elsewhere; says how to go on."""
    return render(request, "403_csrf.html", {"request_id": request_id.current()}, status=403)
