"""Pages of the service as a whole."""

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core import clock
from core.http import split_hosts

# RFC 9116 §2.5.5 asks for less than a year; whoever reads it later reads it anew.
GOOD_FOR = timedelta(days=90)
# Paths begin with them: pages of persons, and what programs call.
NOT_FOR_CRAWLERS = (
    "/account/",
    "/admin",
    "/apps/report/",
    "/connect/",
    "/console/",
    "/docs/search",
    "/health/",
    "/hooks/",
    "/v1",
)


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
        return _plain_text(["No contact is set."], status=404)
    expires = (clock.now() + GOOD_FOR).replace(hour=0, minute=0, second=0, microsecond=0)
    return _plain_text(
        [
            *(f"Contact: {contact if ':' in contact else f'mailto:{contact}'}" for contact in contacts),
            f"Expires: {expires:%Y-%m-%dT%H:%M:%SZ}",
            *(f"Canonical: {address}/.well-known/security.txt" for address in _own_addresses(request)),
            "Preferred-Languages: en",
            *([f"Policy: {settings.SECURITY_POLICY}"] if settings.SECURITY_POLICY else []),
        ]
    )


def _own_addresses(request: HttpRequest) -> list[str]:
    """Return the address of the sign-in service, and that of the request's host if it is another one.

    RFC 9116 §2.5.2: who reads the file elsewhere than at a Canonical should not believe it. The hosts that were not
    asked for stay unnamed: nothing tells strangers where the admin is.
    """
    hosts = split_hosts.current()
    parts = split_hosts.parts_of(split_hosts.name_of(request))
    here = (address for part, address in hosts.addresses.items() if part in parts)
    return list(dict.fromkeys([settings.AUTH_URL, *here]))


@require_safe
def robots_txt(request: HttpRequest) -> HttpResponse:
    """GET /robots.txt: what crawlers may read (RFC 9309): the docs and public pages, and nothing on other hosts."""
    if split_hosts.PEOPLE not in split_hosts.parts_of(split_hosts.name_of(request)):
        lines = ["User-agent: *", "Disallow: /"]
    else:
        lines = ["User-agent: *", *(f"Disallow: {prefix}" for prefix in NOT_FOR_CRAWLERS)]
    response = _plain_text(lines)
    response["Cache-Control"] = "public, max-age=3600"
    return response


def _plain_text(lines: list[str], status: int = 200) -> HttpResponse:
    return HttpResponse("\n".join([*lines, ""]), content_type="text/plain; charset=utf-8", status=status)
