"""What pages show of an app."""

from typing import Any
from urllib.parse import urlsplit

from oidc.clients.app_pages import has_public_page
from oidc.clients.logos import public_logo_path
from oidc.clients.reviewed_hosts import counts_as_reviewed, home_host, outside_host
from oidc.domains.coverage import hosts_of
from oidc.models import Client


def client_context(client: Client, redirect_uri: str = "") -> dict[str, Any]:
    """Return the template context of an app's card: its logo only once it is verified (docs/review.md#logos).

    `redirect_uri` is that of the request that the page is about. At a host that the app's review did not take in the
    card is that of an app that nobody reviewed, and names it as `outside_host` (docs/review.md#hosts). Pages without a
    request go by the app. An app whose home page's domain is no longer proven is shown as unreviewed everywhere.
    """
    outside = outside_host(client, redirect_uri) if redirect_uri else ""
    carries_badge = client.carries_badge or client.first_party
    return {
        "client_id": client.client_id,
        # Where people read what the review says; "" where they can't now (docs/review.md#public-pages).
        "page_slug": client.page_slug if has_public_page(client) else "",
        "name": client.name,
        "letter": client.letter,
        "logo_url": None if outside else public_logo_path(client),
        "verified": carries_badge and not outside,
        "outside_host": outside,
        # The home page's host, where the project no longer proves its domain; "" otherwise.
        "lapsed_domain": "" if carries_badge or not client.is_verified else home_host(client),
        "domain": _named_domain(client, redirect_uri),
        "state": client.state.value,
        "suspended_since": client.project.suspended_at,
        "home_page_url": client.home_page_url,
        "home_page_domain": urlsplit(client.home_page_url).hostname or "",
        "privacy_policy_url": client.privacy_policy_url,
        "terms_url": client.terms_url,
        "support_address": client.support_address,
    }


def _named_domain(client: Client, redirect_uri: str) -> str:
    """Return the host that pages name beside the app: its home page's, else one that its review covers."""
    if client.home_page_url or not client.is_verified or client.first_party:
        return client.domain
    addresses = [redirect_uri, *client.registered_redirect_uris]
    hosts = hosts_of(uri for uri in addresses if counts_as_reviewed(client, uri))
    return next(iter(hosts), client.domain)
