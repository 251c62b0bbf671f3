"""What a reviewer confirms before an approval, and what is kept of it (docs/review.md#for-reviewers)."""

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
    """One sentence that the reviewer ticks; `applies` says in which reviews it is asked."""

    code: str
    text: str
    applies: Callable[[AppReview], bool]


def _always(review: AppReview) -> bool:
    return True


def _asks_for_scopes(review: AppReview) -> bool:
    return bool(review.snapshot.get("scopes"))


def _was_sent_back(review: AppReview) -> bool:
    """Return whether reviewers asked for something before: in this review, or by rejecting the one before it."""
    if review.revision > 1:
        return True
    before = AppReview.objects.filter(client=review.client_id, number__lt=review.number)
    return before.order_by("-number").values_list("status", flat=True).first() == Status.REJECTED


def _evidence_warns(review: AppReview) -> bool:
    """Return whether a fact of the evidence does not pass."""
    return any(fact.result != Result.PASS for fact in collect_evidence(review).facts)


# Codes are stored with each approval: change texts rather than codes.
CHECKLIST = (
    ChecklistItem("signed_in", "I signed in to the app, and it does what is described.", _always),
    ChecklistItem("home_page", "The home page says what the app is and who makes it.", _always),
    ChecklistItem("privacy_policy", "The privacy policy names the app, what it reads and what for.", _always),
    ChecklistItem("identity", "Name and logo imitate nobody, and promise nothing that the app isn't.", _always),
    ChecklistItem("scopes", "Each scope that I approve is needed for what is described.", _asks_for_scopes),
    ChecklistItem("asked_before", "What reviewers asked for the last time is done.", _was_sent_back),
    ChecklistItem("warnings", "I looked at what the evidence warns of.", _evidence_warns),
)


def checklist_for(review: AppReview) -> list[ChecklistItem]:
    """Return the items that an approval of this review needs ticked, in order."""
    return [item for item in CHECKLIST if item.applies(review)]


def tick(review: AppReview, actor: Account, checked: Collection[str]) -> list[str]:
    """Write what was ticked into `review.checked`, which the caller saves, and return the codes in order.

    It holds `codes`, `by` (the account's key), `at` (ISO 8601, UTC) and `revision`. Raises IncompleteSubmission for an
    item that is missing, and for one that does not exist.
    """
    items = checklist_for(review)
    if missing := [item.text for item in items if item.code not in checked]:
        raise IncompleteSubmission(f"Not everything is ticked: {' '.join(missing)}")
    # An item that applied when the form was opened may not any more: a warning that was there has gone.
    if set(checked) - {item.code for item in CHECKLIST}:
        raise IncompleteSubmission("Something is ticked that is not on the checklist.")
    codes = [item.code for item in items]
    review.checked = {"codes": codes, "by": actor.pk, "at": clock.now().isoformat(), "revision": review.revision}
    return codes


def texts_of(codes: Collection[str]) -> list[str]:
    """Return the sentences of stored codes; a code that is on the list no more stands for itself."""
    known = {item.code: item.text for item in CHECKLIST}
    return [known.get(code, code) for code in codes]
