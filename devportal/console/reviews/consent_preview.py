"""The consent page as people would see it: the real question, which here does nothing."""

import copy
from typing import Any

from accounts.models import Account
from devportal.console.reviews import logos
from devportal.console.reviews.snapshots import Snapshot, approved_scopes, client_values
from devportal.lib import clock
from oidc.clients import presentation
from oidc.clients.branding import FIELD_VALIDATORS
from oidc.models import Client
from oidc.views import pages

# What nearly every app asks for; what it asks for beyond is added.
USUAL_SCOPES = ("openid", "email", "profile")


def consent_preview(
    client: Client, shown: Snapshot, account: Account, *, verified: bool, prefix: str, title: str
) -> dict[str, Any]:
    """Return one consent page for console/partials/consent_preview.html, with `account` as the person who is asked.

    `prefix` sets its ids apart from those of another one on the same page.
    """
    app = copy.copy(client)
    for field in FIELD_VALIDATORS:
        setattr(app, field, shown[field])
    app.verified_at = clock.now() if verified else None
    card = presentation.client_context(app) | {"logo_url": logos.logo_path(client, shown["logo"]) if verified else None}
    redirect_urls = shown["redirect_urls"]
    asked = [*USUAL_SCOPES, *shown["scopes"]] if verified else USUAL_SCOPES
    question = pages.consent_context(card, account, asked, (), redirect_urls[0] if redirect_urls else None)
    return question | {"prefix": f"{prefix}-", "title": title}


def consent_previews(client: Client, asked: Snapshot, account: Account) -> list[dict[str, Any]]:
    """Return the page as it is now, and as it would be once `asked` is approved."""
    after = consent_preview(client, asked, account, verified=True, prefix="after", title="Once this is approved")
    if client.is_verified:
        now = client_values(client) | {"scopes": approved_scopes(client)}
        return [
            consent_preview(client, now, account, verified=True, prefix="now", title="Now, as it was approved"),
            after,
        ]
    return [consent_preview(client, asked, account, verified=False, prefix="now", title="Before review"), after]
