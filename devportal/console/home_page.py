"""The service's home page, security.txt and robots.txt, and the page for URLs that do not exist."""

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts import guessed_urls
from core import clock
from core.http import error_pages, split_hosts

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


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Redirect to the account page that the URL means, or return 404.

    Below the docs and the console, the page has their search. Programs that call a wrong endpoint of the sign-in
    service get JSON, unless they prefer HTML.
    """
    prefers_html = request.get_preferred_type(["application/json", "text/html"]) == "text/html"
    if request.path.startswith(("/connect/", "/.well-known/")) and not prefers_html:
        text = "There is no such endpoint. /.well-known/openid-configuration lists the endpoints."
        response: HttpResponse = JsonResponse({"error": "not_found", "error_description": text}, status=404)
        add_never_cache_headers(response)
        return response
    if request.method in ("GET", "HEAD") and (meant := guessed_urls.find_meant(request.path)):
        response = HttpResponseRedirect(split_hosts.link(meant, request))
        add_never_cache_headers(response)
        return response
    template = ""
    if request.path.startswith("/docs/"):
        template = "docs/404.html"
    elif request.path.startswith("/console/") and request.user.is_authenticated:
        template = "console/404.html"
    return error_pages.page_not_found(request, exception, template)


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
            f"# Report leaked API keys and client secrets at {settings.AUTH_URL}{reverse('report_leak')}",
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
