"""What pages show of an app."""

from typing import Any
from urllib.parse import urlsplit

from oidc.clients.app_pages import has_public_page
from oidc.clients.logos import public_logo_path
from oidc.clients.reviewed_hosts import outside_host
from oidc.models import Client


def client_context(client: Client, redirect_uri: str = "") -> dict[str, Any]:
    """Return the template context of an app's card: its logo only once it is verified (docs/review.md#logos).

    `redirect_uri` is that of the request that the page is about. At a host that the app's review did not take in the
    card is that of an app that nobody reviewed, and names it as `outside_host` (docs/review.md#hosts). Pages without a
    request go by the app.
    """
    outside = outside_host(client, redirect_uri) if redirect_uri else ""
    return {
        "client_id": client.client_id,
        # Where people read what the review says; "" where they can't now (docs/review.md#public-pages).
        "page_slug": client.page_slug if has_public_page(client) else "",
        "name": client.name,
        "letter": client.letter,
        "logo_url": None if outside else public_logo_path(client),
        "verified": (client.is_verified and not outside) or client.first_party,
        "outside_host": outside,
        "domain": client.domain,
        "state": client.state.value,
        "suspended_since": client.project.suspended_at,
        "home_page_url": client.home_page_url,
        "home_page_domain": urlsplit(client.home_page_url).hostname or "",
        "privacy_policy_url": client.privacy_policy_url,
        "terms_url": client.terms_url,
        "support_address": client.support_address,
    }
