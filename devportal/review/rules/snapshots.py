"""Snapshots of reviewed values: requested, in force and last approved."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.dispatch import receiver

from core.changed_meanwhile import digest_of
from devportal.review.models import AppReview, ReviewRevision
from oidc.apis.registry import Scope
from oidc.apis.scopes import known_scopes, other_api_name
from oidc.apis.uses import ScopeUse
from oidc.clients.domain_names import hosts_of
from oidc.domains.branding import FIELD_VALIDATORS
from oidc.models import Client
from oidc.signals import asking_scope_use

Snapshot = dict[str, Any]
Status = AppReview.Status

LABELS = {
    "name": "Name",
    "logo": "Logo",
    "home_page_url": "Home page",
    "privacy_policy_url": "Privacy policy",
    "terms_url": "Terms",
    "support_address": "Support email address",
    "type": "Type",
    "redirect_urls": "Redirect URLs",
    "sign_out_urls": "Sign-out URLs",
    "scopes": "Scopes",
    "places": "Where scopes are used",
    "demo_url": "Demo",
}
# The key of a draft's values for texts that accompany the next submission without being part of it: `note` and
# `answers` (for_reviewers.py).
UNSENT = "unsent"
# The key of what counted when the app was submitted: `held`, the approved scopes that it could request, and `titles`,
# the sentences of the requested ones.
CIRCUMSTANCES = "circumstances"


def reviewed_scopes() -> list[str]:
    """Return the scopes that need an approval, in their order."""
    return [scope.name for scope in known_scopes().values() if scope.needs_approval]


@receiver(asking_scope_use)
def scope_is_reviewed(sender: Any, scope: str, **kwargs: Any) -> ScopeUse | None:
    """Return REVIEW if a review or a draft of one requests the scope (receiver of `asking_scope_use`)."""
    asked = {"snapshot__scopes__has_key": scope}
    found = AppReview.objects.filter(**asked).exists() or ReviewRevision.objects.filter(**asked).exists()
    return ScopeUse.REVIEW if found else None


def sensitive_among(scopes: Iterable[str]) -> list[str]:
    """Return the sensitive ones of these scopes. Approving one for many people takes two reviewers."""
    known = known_scopes()
    return [scope for scope in scopes if scope in known and known[scope].sensitive]


def requestable_scopes(client: Client) -> list[Scope]:
    """Return the scopes that a draft of this client may request: those of APIs that are turned on, and held ones."""
    held = client.approved_scopes.split()
    return [
        scope for scope in known_scopes().values() if scope.needs_approval and (scope.enabled or scope.name in held)
    ]


def label_of(scope: str) -> str:
    """Return a scope as reviewers and developers read it: its name, its API, and its sentence on the consent page.

    The API is named unless it is that at `/v1`.
    """
    known = known_scopes().get(scope)
    if known is None:
        return scope
    parts = [other_api_name(known)] if other_api_name(known) else []
    parts += [] if known.enabled else ["turned off"]
    return f"{scope} ({', '.join(parts)}): “{known.title}”" if parts else f"{scope}: “{known.title}”"


def circumstances_of(client: Client, scopes: Iterable[str]) -> dict[str, Any]:
    """Return the value of CIRCUMSTANCES for a submission that requests these scopes."""
    known = known_scopes()
    titles = {scope: known[scope].title for scope in scopes if scope in known}
    return {"held": approved_scopes(client), "titles": titles}


def former_title(sent: Snapshot, scope: str) -> str:
    """Return the sentence that a requested scope had at the submission, "" if people read the same sentence now."""
    title, known = str(sent.get(CIRCUMSTANCES, {}).get("titles", {}).get(scope, "")), known_scopes().get(scope)
    return "" if known is None or title == known.title else title


def held_since(client: Client, sent: Snapshot) -> list[str]:
    """Return the approved scopes of the client that it could not request when it was submitted.

    It got them after that without a review, or they needed no approval at that time.
    """
    if CIRCUMSTANCES not in sent:
        return []
    known = {*sent[CIRCUMSTANCES]["held"], *sent["scopes"]}
    return [scope for scope in client.approved_scopes.split() if scope not in known]


def open_review(client: Client) -> AppReview | None:
    """Return the undecided review of a client, which may be a draft, or None."""
    return AppReview.objects.filter(client=client, status__in=AppReview.OPEN).first()


def last_approved(client: Client) -> AppReview | None:
    """Return the latest approved review, or None."""
    return AppReview.objects.filter(client=client, status=Status.APPROVED).order_by("-number").first()


def latest_revision(review: AppReview) -> ReviewRevision | None:
    """Return the last submission, or None for a review that was never submitted."""
    return ReviewRevision.objects.filter(review=review).order_by("-number").first()


def sent_snapshot(review: AppReview, revision: ReviewRevision | None) -> Snapshot:
    """Return the values of the last submission. After a request for changes, the review's own snapshot is the draft.

    It stays the draft if the developers then withdraw. `revision` is the latest one, if it is stored.
    """
    sent = revision if review.status in AppReview.REDRAFTED else None
    return dict(sent.snapshot if sent else review.snapshot)


def client_values(client: Client) -> Snapshot:
    """Return the client's present values as a snapshot without scopes."""
    return {
        **{field: getattr(client, field) for field in FIELD_VALIDATORS},
        "logo": client.logo.name or "",
        **settings_in_force(client),
    }


def settings_in_force(client: Client) -> Snapshot:
    """Return the values that the client's settings pages change with immediate effect."""
    return {
        "type": client.type,
        "redirect_urls": list(client.registered_redirect_uris),
        "sign_out_urls": list(client.registered_post_logout_redirect_uris),
    }


def approved_snapshot(client: Client) -> Snapshot:
    """Return the client's present values and approved scopes as a snapshot."""
    return _approved_snapshot(client, last_approved(client))


def _approved_snapshot(client: Client, last: AppReview | None) -> Snapshot:
    """Return `approved_snapshot`, given the latest approved review."""
    explained: Snapshot = last.snapshot if last else {"scopes": {}, "places": {}, "demo_url": ""}
    held = approved_scopes(client)
    return client_values(client) | {
        "scopes": {scope: explained["scopes"].get(scope, "") for scope in held},
        "places": {scope: explained["places"].get(scope, "") for scope in held},
        "demo_url": explained["demo_url"],
    }


def approved_scopes(client: Client) -> list[str]:
    """Return the approved scopes of the client, without the basic ones."""
    approved = client.approved_scopes.split()
    return [scope for scope in reviewed_scopes() if scope in approved]


def working_snapshot(client: Client) -> Snapshot:
    """Return the developers' working values: those of the open review or of a new draft."""
    return working_snapshot_of(client, open_review(client))


def working_snapshot_of(client: Client, review: AppReview | None) -> Snapshot:
    """Return `working_snapshot`, given the open review."""
    if review is None:
        return _with_requestable(client, initial_snapshot(client))
    if review.is_frozen:
        return dict(review.snapshot)
    # Values that other pages change with immediate effect are taken from the client.
    now = settings_in_force(client)
    now |= {} if client.is_verified else {"name": client.name}
    return _with_requestable(client, {**review.snapshot, **now})


def draft_digest(working: Snapshot) -> str:
    """Return a digest of the working values in the form of a draft, which tells whether someone has saved it since."""
    elsewhere = ("type", "redirect_urls", "sign_out_urls", CIRCUMSTANCES)
    shown = {field: value for field, value in working.items() if field not in elsewhere}
    return digest_of(shown)


def _with_requestable(client: Client, draft: Snapshot) -> Snapshot:
    """Return a draft without the scopes that can't be requested: their API was turned off, or needs no approval now."""
    return _with_only([scope.name for scope in requestable_scopes(client)], draft)


def _with_only(names: Collection[str], snapshot: Snapshot) -> Snapshot:
    def only(texts: Mapping[str, str]) -> dict[str, str]:
        return {scope: text for scope, text in texts.items() if scope in names}

    return snapshot | {field: only(snapshot[field]) for field in ("scopes", "places")}


def initial_snapshot(client: Client) -> Snapshot:
    """Return the values of a new draft: those in force, with the unapproved changes of the last review."""
    last = client.reviews.order_by("-number").first()
    is_approved = last is None or last.status == Status.APPROVED
    values = _approved_snapshot(client, last if is_approved else last_approved(client))
    if last is None or last.status not in (Status.WITHDRAWN, Status.REJECTED):
        return values
    written = {field: value for field, value in last.snapshot.items() if field not in (UNSENT, CIRCUMSTANCES)}
    written["scopes"] = written["scopes"] | dict.fromkeys(held_since(client, last.snapshot), "")
    if client.is_verified:
        return {**values, **written, **settings_in_force(client)}
    # Before the first approval the client has the newest values. Texts for reviewers are stored only in reviews.
    only_there = ("scopes", "places", "demo_url")
    return values | {field: written[field] for field in only_there}


def baseline_snapshot(client: Client) -> Snapshot:
    """Return the snapshot that a submission is compared with: the last approved one, or {}."""
    approved = last_approved(client)
    if approved is None:
        return approved_snapshot(client) if client.is_verified else {}
    return _with_only(client.approved_scopes.split(), approved.snapshot)


def has_changes(client: Client, snapshot: Snapshot) -> bool:
    """Return whether there is something to review. This is always true for an app that is not reviewed."""
    if not client.is_verified:
        return True
    held_at_once = settings_in_force(client)
    if any(snapshot[field] != value for field, value in client_values(client).items() if field not in held_at_once):
        return True
    if set(hosts_of(snapshot["redirect_urls"])) - set(client.approved_hosts.split()):
        return True
    if set(snapshot["scopes"]) != set(approved_scopes(client)):
        return True
    approved = last_approved(client)
    return approved is not None and approved.snapshot["type"] != client.type
