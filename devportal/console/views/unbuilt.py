"""Stands where a page is not built yet."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse


def unbuilt(request: HttpRequest, **kwargs: Any) -> HttpResponse:
    """Answer 404."""
    raise Http404
