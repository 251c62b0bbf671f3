"""Pages of the service as a whole."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """GET /: what this is, and where to sign in."""
    return render(request, "home.html")
