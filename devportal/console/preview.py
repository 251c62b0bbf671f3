"""The consent page as people would see it: the real question, which here does nothing."""

import copy
from typing import Any

from accounts.models import Account
from devportal.console.reviews import logos
from devportal.console.reviews.snapshots import Snapshot, approved_scopes, own_values
from devportal.lib import clock
from oidc import pending
from oidc.branding import FIELDS
from oidc.models import Client
from oidc.views import pages

# What nearly every app asks for; what it asks for beyond is added.
USUAL = ("openid", "email", "profile")


def page(
    client: Client, shown: Snapshot, account: Account, *, verified: bool, prefix: str, title: str
) -> dict[str, Any]:
    """Return one consent page for console/partials/consent_preview.html, with `account` as the person who is asked.

    `prefix` sets its ids apart from those of another one on the same page.
    """
    app = copy.copy(client)
    for field in FIELDS:
        setattr(app, field, shown[field])
    app.verified_at = clock.now() if verified else None
    card = pending.card(app) | {"logo_url": logos.address(client, shown["logo"]) if verified else None}
    redirect_urls = shown["redirect_urls"]
    asked = [*USUAL, *shown["scopes"]] if verified else USUAL
    question = pages.question(card, account, asked, (), redirect_urls[0] if redirect_urls else None)
    return question | {"prefix": f"{prefix}-", "title": title}


def before_and_after(client: Client, asked: Snapshot, account: Account) -> list[dict[str, Any]]:
    """Return the page as it is now, and as it would be once `asked` is approved."""
    after = page(client, asked, account, verified=True, prefix="after", title="Once this is approved")
    if client.is_verified:
        now = own_values(client) | {"scopes": approved_scopes(client)}
        return [page(client, now, account, verified=True, prefix="now", title="Now, as it was approved"), after]
    return [page(client, asked, account, verified=False, prefix="now", title="Before review"), after]
