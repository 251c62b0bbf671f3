"""What is asked for, what is in force, and what differs between the two."""

from dataclasses import dataclass
from typing import Any

from devportal.console.models import AppReview
from oidc.clients.branding import FIELD_VALIDATORS
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
    "scopes": "Scopes",
}
# Scopes that a developer asks for here, in the order of SCOPES.
REVIEWED_SCOPES = [scope.name for scope in SCOPES.values() if scope.needs_approval]


def open_review(client: Client) -> AppReview | None:
    """Return the review that is not decided yet (a draft included), None without one."""
    return AppReview.objects.filter(client=client, status__in=AppReview.OPEN).first()


def last_approved(client: Client) -> AppReview | None:
    """Return the newest review that was approved, None without one."""
    return AppReview.objects.filter(client=client, status=Status.APPROVED).order_by("-number").first()


def client_values(client: Client) -> Snapshot:
    """Return what people see of the app now: a snapshot's fields but the scopes."""
    return {
        **{field: getattr(client, field) for field in FIELD_VALIDATORS},
        "logo": client.logo.name or "",
        "redirect_urls": list(client.registered_redirect_uris),
    }


def approved_snapshot(client: Client) -> Snapshot:
    """Return what holds now: the client's own values, and the scopes that it has been approved for."""
    approved = last_approved(client) if client.approved_scopes else None
    justifications = approved.snapshot.get("scopes", {}) if approved else {}
    return client_values(client) | {
        "scopes": {scope: justifications.get(scope, "") for scope in approved_scopes(client)}
    }


def approved_scopes(client: Client) -> list[str]:
    """Return the scopes beyond the basic ones that the app may ask people for now."""
    approved = client.approved_scopes.split()
    return [scope for scope in REVIEWED_SCOPES if scope in approved]


def working_snapshot(client: Client) -> Snapshot:
    """Return what the developer has before them: what is under way, or what a new draft would begin with."""
    return working_snapshot_of(client, open_review(client))


def working_snapshot_of(client: Client, review: AppReview | None) -> Snapshot:
    """Return what `working_snapshot` does, for who has the open review at hand."""
    if review is None:
        return initial_snapshot(client)
    if review.is_frozen:
        return dict(review.snapshot)
    # What is also changed elsewhere, and counts there at once, is never older here.
    now = {"redirect_urls": list(client.registered_redirect_uris)}
    return {**review.snapshot, **now} if client.is_verified else {**review.snapshot, **now, "name": client.name}


def initial_snapshot(client: Client) -> Snapshot:
    """Return what a new draft begins with: what is in force, and what the last round left unapproved."""
    values = approved_snapshot(client)
    last = client.reviews.order_by("-number").first()
    if last is None or last.status not in (Status.WITHDRAWN, Status.REJECTED):
        return values
    if client.is_verified:
        return {**last.snapshot, "redirect_urls": values["redirect_urls"]}
    # Before approval the client's own values are the newest; the scopes stand in reviews alone.
    return {**values, "scopes": last.snapshot.get("scopes", {})}


def baseline_snapshot(client: Client) -> Snapshot:
    """Return what a submission is compared with: what was approved last, {} if nothing ever was."""
    approved = last_approved(client)
    if approved is None:
        return approved_snapshot(client) if client.is_verified else {}
    scopes = approved.snapshot.get("scopes", {})
    still = {scope: text for scope, text in scopes.items() if scope in client.approved_scopes.split()}
    return {**approved.snapshot, "scopes": still}


@dataclass(frozen=True)
class Difference:
    """One field that differs; `before` is None where nothing was ever approved."""

    field: str
    label: str
    before: Any
    after: Any


def differences(review: AppReview) -> list[Difference]:
    """Return what a review asks to change against what was approved last, field by field."""
    before = review.baseline if review.revision else baseline_snapshot(review.client)
    asked = review.snapshot
    pairs = [(field, label, before.get(field), asked.get(field)) for field, label in LABELS.items()]
    return [Difference(*pair) for pair in pairs if pair[2] != pair[3]]


def has_changes(client: Client, snapshot: Snapshot) -> bool:
    """Tell whether there is something to review: always, until the app is verified."""
    if not client.is_verified:
        return True
    now = client_values(client)
    if any(snapshot.get(field) != value for field, value in now.items() if field != "redirect_urls"):
        return True
    return set(snapshot.get("scopes", {})) != set(approved_scopes(client))
