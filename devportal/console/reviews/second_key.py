"""Two keys: what is dangerous to approve takes two reviewers who decide the same (docs/review.md#two-keys)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.dispatch import receiver

from accounts.models import Account
from accounts.roles import is_reviewer, roles_changed
from accounts.signals import access_ended
from devportal.console.models import AppReview, ReviewEntry
from devportal.console.reviews.timeline import record_entry
from devportal.console.reviews.workflow import ReviewNotAllowed, may_decide
from devportal.lib import clock
from oidc.models import Client

# What needs two keys: it opens what somebody's account holds.
DANGEROUS_SCOPE = "account.read"
# People are counted up to this number, as in the evidence; so a threshold of as many is never reached.
MOST_COUNTED = 10_000
NO_KEY: dict[str, None] = {"first_key_by": None, "first_key_at": None, "first_key": None}


@dataclass(frozen=True)
class FirstKey:
    """The approval of the first of two reviewers: `scopes` maps each scope to the decision, `text` is their note."""

    by: Account
    at: datetime
    scopes: dict[str, bool]
    text: str


def has_many_people(client: Client) -> bool:
    """Return whether more than REVIEW_SECOND_KEY_PEOPLE ever authorized the app; reads at most one row more than that.

    With a threshold of 0 every app counts as one of many; with one of MOST_COUNTED none does.
    """
    threshold = settings.REVIEW_SECOND_KEY_PEOPLE
    if threshold == 0 or threshold >= MOST_COUNTED:
        return threshold == 0
    return bool(client.connections.order_by()[: threshold + 1].count() > threshold)


def needs_two_keys(review: AppReview) -> bool:
    """Return whether an approval takes two reviewers, because of what is asked for and how many people use the app.

    A scope that is held and kept is among those that are asked for. It does not matter what is decided on it.
    """
    return DANGEROUS_SCOPE in review.snapshot.get("scopes", {}) and has_many_people(review.client)


def first_key(review: AppReview) -> FirstKey | None:
    """Return the first key if it stands: for the present revision, by somebody who may still decide on it."""
    given = review.first_key
    by = review.first_key_by
    if not given or by is None or review.first_key_at is None or review.status != AppReview.Status.IN_REVIEW:
        return None
    if given["revision"] != review.revision or not may_decide(by, review.client.project, review):
        return None
    return FirstKey(by, review.first_key_at, given["scopes"], given["text"])


def completed_key(review: AppReview, actor: Account, scopes: Mapping[str, bool]) -> FirstKey | None:
    """Return the first key that an approval by `actor` would complete: another reviewer's, with the same decisions."""
    held = first_key(review)
    if held is None or held.by.pk == actor.pk:
        return None
    return held if held.scopes == {scope: bool(yes) for scope, yes in scopes.items()} else None


def turn_key(
    review: AppReview, actor: Account, scopes: Mapping[str, bool], ticked: Sequence[str], text: str
) -> FirstKey | None:
    """Return the first key that `actor` completes, or None after noting theirs as the first.

    The client is locked: of two reviewers at once, the second to lock it has the second key. Another decision than
    that of the first key takes its place. `ticked` are the codes of the checklist, for the
    timeline. Raises ReviewNotAllowed for the person who gave the first one.
    """
    held = first_key(review)
    if held is not None and held.by.pk == actor.pk:
        raise ReviewNotAllowed(
            "You have approved this already. It takes effect once a second reviewer decides the same."
        )
    if completed := completed_key(review, actor, scopes):
        return completed
    decided = {scope: bool(yes) for scope, yes in scopes.items()}
    review.first_key_by, review.first_key_at = actor, clock.now()
    review.first_key = {"revision": review.revision, "scopes": decided, "text": text}
    review.save(update_fields=list(NO_KEY))
    details: dict[str, Any] = {"name": review.snapshot.get("name", ""), "scopes": decided, "checked": list(ticked)}
    client = review.client
    kind, side = ReviewEntry.Kind.FIRST_KEY, ReviewEntry.Side.REVIEWER
    record_entry(kind, side, actor, client.project, client, review, text=text, details=details)
    return None


def drop_key(review: AppReview) -> None:
    """Forget the first key; the caller saves the review."""
    review.first_key_by = review.first_key_at = review.first_key = None


@receiver(access_ended)
def end_keys_of_a_closed_account(sender: Any, account: Account, **kwargs: Any) -> None:
    """End the first keys of a person whose account is deactivated, closed or deleted."""
    AppReview.objects.filter(status=AppReview.Status.IN_REVIEW, first_key_by=account).update(**NO_KEY)


@receiver(roles_changed)
def end_keys_of_a_former_reviewer(sender: Any, account: Account, **kwargs: Any) -> None:
    """End the first keys of a person who is no reviewer any more; they don't come back with the role."""
    if not is_reviewer(account):
        end_keys_of_a_closed_account(sender, account)
