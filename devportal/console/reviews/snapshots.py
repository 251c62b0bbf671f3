"""Snapshots of reviewed values: requested, in force, approved last, and their differences."""

from dataclasses import dataclass
from typing import Any

from devportal.console.models import AppReview
from oidc.clients.branding import FIELD_VALIDATORS
from oidc.domains.coverage import hosts_of
from oidc.models import Client
from oidc.scopes import SCOPES

Snapshot = dict[str, Any]
Status = AppReview.Status

LABELS = {
    "name": "Name",
    "logo": "Logo",
    "home_page_url": "Home page",
    "privacy_policy_url": "Privacy policy",
    "terms_url": "Terms",
    "support_address": "Support address",
    "redirect_urls": "Redirect URLs",
    "sign_out_urls": "Sign-out URLs",
    "scopes": "Scopes",
}
# Scopes that need review, in the order of SCOPES.
REVIEWED_SCOPES = [scope.name for scope in SCOPES.values() if scope.needs_approval]


def open_review(client: Client) -> AppReview | None:
    """Return the undecided review of a client, also a draft; None if there is none."""
    return AppReview.objects.filter(client=client, status__in=AppReview.OPEN).first()


def last_approved(client: Client) -> AppReview | None:
    """Return the latest approved review, None if there is none."""
    return AppReview.objects.filter(client=client, status=Status.APPROVED).order_by("-number").first()


def client_values(client: Client) -> Snapshot:
    """Return the client's present values as a snapshot without scopes."""
    return {
        **{field: getattr(client, field) for field in FIELD_VALIDATORS},
        "logo": client.logo.name or "",
        **addresses_in_force(client),
    }


def addresses_in_force(client: Client) -> Snapshot:
    """Return what the settings page changes, and holds there at once."""
    return {
        "redirect_urls": list(client.registered_redirect_uris),
        "sign_out_urls": list(client.registered_post_logout_redirect_uris),
    }


def approved_snapshot(client: Client) -> Snapshot:
    """Return the client's present values and approved scopes as a snapshot."""
    approved = last_approved(client) if client.approved_scopes else None
    justifications = approved.snapshot.get("scopes", {}) if approved else {}
    return client_values(client) | {
        "scopes": {scope: justifications.get(scope, "") for scope in approved_scopes(client)}
    }


def approved_scopes(client: Client) -> list[str]:
    """Return the approved scopes of the client, without the basic ones."""
    approved = client.approved_scopes.split()
    return [scope for scope in REVIEWED_SCOPES if scope in approved]


def working_snapshot(client: Client) -> Snapshot:
    """Return the developer's working values: of the open review, or those of a new draft."""
    return working_snapshot_of(client, open_review(client))


def working_snapshot_of(client: Client, review: AppReview | None) -> Snapshot:
    """The same as `working_snapshot`, with the open review given."""
    if review is None:
        return initial_snapshot(client)
    if review.is_frozen:
        return dict(review.snapshot)
    # Values that are also changed on other pages, and hold there at once, are taken from the client.
    now = addresses_in_force(client)
    return {**review.snapshot, **now} if client.is_verified else {**review.snapshot, **now, "name": client.name}


def initial_snapshot(client: Client) -> Snapshot:
    """Return the values of a new draft: those in force, with the unapproved changes of the last review."""
    values = approved_snapshot(client)
    last = client.reviews.order_by("-number").first()
    if last is None or last.status not in (Status.WITHDRAWN, Status.REJECTED):
        return values
    if client.is_verified:
        return {**last.snapshot, **addresses_in_force(client)}
    # Before the first approval the client's values are the newest; requested scopes are only in reviews.
    return {**values, "scopes": last.snapshot.get("scopes", {})}


def baseline_snapshot(client: Client) -> Snapshot:
    """Return the snapshot that a submission is compared with: the last approved one, {} if there is none."""
    approved = last_approved(client)
    if approved is None:
        return approved_snapshot(client) if client.is_verified else {}
    scopes = approved.snapshot.get("scopes", {})
    still = {scope: text for scope, text in scopes.items() if scope in client.approved_scopes.split()}
    return {**approved.snapshot, "scopes": still}


@dataclass(frozen=True)
class Difference:
    """One field that differs; `before` is None without an earlier approval."""

    field: str
    label: str
    before: Any
    after: Any


def differences(review: AppReview) -> list[Difference]:
    """Return the differences between a review's snapshot and its baseline, field by field."""
    before = review.baseline if review.revision else baseline_snapshot(review.client)
    asked = review.snapshot
    pairs = [(field, label, before.get(field), asked.get(field)) for field, label in LABELS.items()]
    return [Difference(*pair) for pair in pairs if pair[2] != pair[3]]


def has_changes(client: Client, snapshot: Snapshot) -> bool:
    """Return whether there is something to review; always true for an unverified app."""
    if not client.is_verified:
        return True
    now = client_values(client)
    if any(
        snapshot.get(field) != value for field, value in now.items() if field not in ("redirect_urls", "sign_out_urls")
    ):
        return True
    if set(hosts_of(snapshot.get("redirect_urls", []))) - set(client.approved_hosts.split()):
        return True
    return set(snapshot.get("scopes", {})) != set(approved_scopes(client))
