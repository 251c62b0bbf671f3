"""The checklist that a reviewer ticks before an approval (docs/review.md#for-reviewers)."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from accounts.models import Account
from core import clock
from devportal.review.evidence.collecting import collect_evidence
from devportal.review.evidence.facts import Result
from devportal.review.models import AppReview
from devportal.review.workflow import IncompleteSubmission, Status


@dataclass(frozen=True)
class ChecklistItem:
    """One sentence that the reviewer ticks. `applies` tells for which reviews it is required."""

    code: str
    text: str
    applies: Callable[[AppReview], bool]


def _always(review: AppReview) -> bool:
    return True


def _asks_for_scopes(review: AppReview) -> bool:
    return bool(review.snapshot.get("scopes"))


def _was_sent_back(review: AppReview) -> bool:
    """Return whether reviewers requested changes in this review, or rejected the previous one."""
    if review.revision > 1:
        return True
    before = AppReview.objects.filter(client=review.client_id, number__lt=review.number)
    return before.order_by("-number").values_list("status", flat=True).first() == Status.REJECTED


def _evidence_warns(review: AppReview) -> bool:
    """Return whether any fact of the evidence does not pass."""
    return any(fact.result != Result.PASS for fact in collect_evidence(review).facts)


# The codes are stored with each approval, so change the texts rather than the codes.
CHECKLIST = (
    ChecklistItem("signed_in", "I signed in to the app, and it does what is described.", _always),
    ChecklistItem("home_page", "The home page says what the app is and who makes it.", _always),
    ChecklistItem("privacy_policy", "The privacy policy names the app, what it reads and what for.", _always),
    ChecklistItem("identity", "Name and logo imitate nobody, and promise nothing that the app doesn't do.", _always),
    ChecklistItem("scopes", "Each scope that I approve is needed for what is described.", _asks_for_scopes),
    ChecklistItem("asked_before", "The changes that reviewers requested last time are made.", _was_sent_back),
    ChecklistItem("warnings", "I checked each warning of the evidence.", _evidence_warns),
)


def checklist_for(review: AppReview) -> list[ChecklistItem]:
    """Return the items that must be ticked to approve this review, in order."""
    return [item for item in CHECKLIST if item.applies(review)]


def tick(review: AppReview, actor: Account, checked: Collection[str]) -> list[str]:
    """Write the ticked items to `review.checked`, which the caller saves, and return the codes in order.

    `checked` holds `codes`, `by` (the account's primary key), `at` (ISO 8601, UTC) and `revision`. Raises
    IncompleteSubmission if an item is missing or does not exist.
    """
    items = checklist_for(review)
    if missing := [item.text for item in items if item.code not in checked]:
        raise IncompleteSubmission(f"Not everything is ticked: {' '.join(missing)}")
    # An item that applied when the form was opened may no longer apply, for example if a warning has gone.
    if set(checked) - {item.code for item in CHECKLIST}:
        raise IncompleteSubmission("A ticked item is not on the checklist.")
    codes = [item.code for item in items]
    review.checked = {"codes": codes, "by": actor.pk, "at": clock.now().isoformat(), "revision": review.revision}
    return codes


def texts_of(codes: Collection[str]) -> list[str]:
    """Return the sentences of stored codes. A code that is no longer on the list is returned unchanged."""
    known = {item.code: item.text for item in CHECKLIST}
    return [known.get(code, code) for code in codes]
