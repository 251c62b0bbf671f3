"""Pages of the service as a whole."""

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from devportal.lib import clock

# RFC 9116 §2.5.5 asks for less than a year; whoever reads it later reads it anew.
GOOD_FOR = timedelta(days=90)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """GET /: what this is, and where to sign in."""
    return render(request, "home.html")


@never_cache
@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """GET /.well-known/security.txt: whom to tell of a vulnerability (RFC 9116); 404 without SECURITY_CONTACT."""
    contacts = settings.SECURITY_CONTACT
    if not contacts:
        return HttpResponse("No contact is set.\n", content_type="text/plain; charset=utf-8", status=404)
    expires = (clock.now() + GOOD_FOR).replace(hour=0, minute=0, second=0, microsecond=0)
    lines = [
        *(f"Contact: {contact if ':' in contact else f'mailto:{contact}'}" for contact in contacts),
        f"Expires: {expires:%Y-%m-%dT%H:%M:%SZ}",
        f"Canonical: {settings.AUTH_URL}/.well-known/security.txt",
        "Preferred-Languages: en",
    ]
    return HttpResponse("\n".join([*lines, ""]), content_type="text/plain; charset=utf-8")
