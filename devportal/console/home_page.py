"""The service's home page, security.txt and robots.txt."""

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core import clock
from core.http import split_hosts

# RFC 9116 §2.5.5 recommends less than a year. Readers fetch the file again later.
GOOD_FOR = timedelta(days=90)
# Path prefixes of personal pages, and of endpoints for programs.
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
    """GET /: explains the service, with a link to sign in."""
    return render(request, "home.html")


@never_cache
@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """GET /.well-known/security.txt: contact for vulnerability reports (RFC 9116); 404 without SECURITY_CONTACT."""
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
    """Return the URL of the file on the sign-in service and, if different, on the request's host.

    Readers should not trust a file that they found at any other URL (RFC 9116 §2.5.2). Other hosts are not named, so
    that strangers don't learn where the admin is.
    """
    hosts = split_hosts.current()
    parts = split_hosts.parts_of(split_hosts.name_of(request))
    here = (address for part, address in hosts.addresses.items() if part in parts)
    return list(dict.fromkeys([settings.AUTH_URL, *here]))


@require_safe
def robots_txt(request: HttpRequest) -> HttpResponse:
    """GET /robots.txt: crawlers may read the docs and public pages, and nothing on other hosts (RFC 9309)."""
    if split_hosts.PEOPLE not in split_hosts.parts_of(split_hosts.name_of(request)):
        lines = ["User-agent: *", "Disallow: /"]
    else:
        lines = ["User-agent: *", *(f"Disallow: {prefix}" for prefix in NOT_FOR_CRAWLERS)]
    response = _plain_text(lines)
    response["Cache-Control"] = "public, max-age=3600"
    return response


def _plain_text(lines: list[str], status: int = 200) -> HttpResponse:
    return HttpResponse("\n".join([*lines, ""]), content_type="text/plain; charset=utf-8", status=status)
