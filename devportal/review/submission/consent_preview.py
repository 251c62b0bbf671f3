"""Previews of the consent page, rendered with its real template."""

import copy
from typing import Any

from accounts.models import Account
from core import clock
from devportal.review.rules.snapshots import Snapshot, approved_scopes, client_values
from devportal.review.submission import logos
from oidc.apis.registry import ACCOUNT_READ
from oidc.apis.scopes import optional_among, plan_name
from oidc.clients.reviewed_hosts import outside_host
from oidc.domains import branding
from oidc.domains.branding import FIELD_VALIDATORS
from oidc.models import Client
from oidc.views import pages

# Every preview shows these scopes and the requested ones.
USUAL_SCOPES = ("openid", "email", "profile")


def consent_preview(
    client: Client, shown: Snapshot, account: Account, plan: str, *, verified: bool, is_approval: bool, title: str
) -> dict[str, Any]:
    """Return the context of review/partials/consent_preview.html, with `account` as the signed-in person.

    `plan` is the name of their plan. `is_approval` shows the page after an approval, which requires a proven home page;
    its HTML ids differ from those of the current preview.
    """
    app = copy.copy(client)
    for field in FIELD_VALIDATORS:
        setattr(app, field, shown[field])
    app.verified_at = clock.now() if verified else None
    if is_approval:
        app.home_unproven_since = None
    logo = logos.logo_path(client, shown["logo"]) if app.carries_badge else None
    card = branding.client_context(app) | {"logo_url": logo}
    # Prefer a redirect URL that counts as reviewed, because the page differs for others (docs/review.md#hosts).
    redirect_urls = sorted(shown["redirect_urls"], key=lambda uri: bool(outside_host(client, uri)))
    asked = [*USUAL_SCOPES, *shown["scopes"]] if verified else USUAL_SCOPES
    question = pages.consent_context(
        card,
        account,
        asked,
        redirect_urls[0] if redirect_urls else None,
        optional=optional_among(client, asked),
        plan=plan,
    )
    return question | {"prefix": "after-" if is_approval else "now-", "title": title}


def consent_previews(client: Client, asked: Snapshot, account: Account) -> list[dict[str, Any]]:
    """Return two previews: the page now, and after `asked` is approved."""
    now = client_values(client) | {"scopes": approved_scopes(client)} if client.is_verified else asked
    shows_plan = any(ACCOUNT_READ in snapshot["scopes"] for snapshot in (now, asked))
    plan = plan_name(account) if shows_plan else ""  # read once for both previews
    title = "Now, as reviewed" if client.carries_badge else "Now" if client.is_verified else "Before review"
    return [
        consent_preview(client, now, account, plan, verified=client.is_verified, is_approval=False, title=title),
        consent_preview(client, asked, account, plan, verified=True, is_approval=True, title="After review"),
    ]
