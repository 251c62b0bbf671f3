"""What the public page of an app says: values that were approved, and nothing of a draft."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from devportal.console.reviews.snapshots import approved_snapshot
from oidc.clients.presentation import client_context
from oidc.clients.reviewed_hosts import approved_among
from oidc.domains.coverage import domains_of, hosts_of
from oidc.models import Client
from oidc.scopes import SCOPES

# What any app may ask for without a review, in the words of the consent page.
UNREVIEWED = tuple(scope.title for scope in SCOPES.values() if not scope.needs_approval)


@dataclass(frozen=True)
class Asked:
    """An access that reviewers approved: its sentence on the consent page, and what the app needs it for."""

    title: str
    why: str


def page_context(client: Client) -> dict[str, Any]:
    """Return the template context of an app's public page; the app is one that has one now.

    The project's name is not among it: its owners change that at any time, and nobody looks at it.
    """
    justifications: dict[str, str] = approved_snapshot(client)["scopes"]
    since, looked_at = client.verified_at, client.last_reviewed_at
    return {
        "client": client_context(client),
        "client_id": client.client_id,
        "domains": proven_domains(client),
        "asked": [Asked(SCOPES[scope].title, why) for scope, why in justifications.items()],
        "unreviewed": UNREVIEWED,
        "since": since,
        "looked_at": looked_at if _is_later(looked_at, since) else None,
    }


def _is_later(looked_at: datetime | None, since: datetime | None) -> bool:
    return looked_at is not None and since is not None and looked_at.date() > since.date()


def proven_domains(client: Client) -> list[str]:
    """Return the proven domains of the review that the app's home page and redirect URLs are on."""
    hosts = hosts_of([client.home_page_url, *client.redirect_uris.split()])
    domains = approved_among(client, domains_of(client.project))
    return [domain.name for domain in domains if domain.is_proven and any(map(domain.covers, hosts))]
