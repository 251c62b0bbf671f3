"""The checklist that a reviewer confirms before an approval (docs/review.md#the-page-of-a-review)."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, TextChoices

from accounts.models import Account
from core import clock
from core.messages import listed
from devportal.review.evidence.collecting import Evidence, collect_evidence, evidence_of
from devportal.review.evidence.facts import Result
from devportal.review.evidence.rules import RULES
from devportal.review.models import AppReview, ReviewEntry
from devportal.review.rules.timeline import Kind, clean_text
from devportal.review.rules.workflow import IncompleteSubmission


class Group(TextChoices):
    """A part of the checklist, which reviewers confirm with one tick. The label is its heading."""

    APP = "app", "The app and its pages"
    REQUEST = "request", "The request and its evidence"


@dataclass(frozen=True)
class ChecklistItem:
    """One sentence that the reviewer confirms. `applies` tells for which reviews it is required."""

    code: str
    group: Group
    text: str
    applies: Callable[[AppReview, Evidence], bool]


def _always(review: AppReview, evidence: Evidence) -> bool:
    return True


def _asks_for_scopes(review: AppReview, evidence: Evidence) -> bool:
    return bool(review.snapshot.get("scopes"))


def _was_sent_back(review: AppReview, evidence: Evidence) -> bool:
    """Return whether reviewers requested changes in this review, or sent an earlier one back since the last approval.

    Developers can't get around it by withdrawing a review and beginning another one.
    """
    if review.revision > 1:
        return True
    entries = ReviewEntry.objects.filter(review__client=review.client_id)
    approvals = entries.filter(kind=Kind.APPROVED, pk__gt=OuterRef("pk"))
    sent_back = entries.filter(kind__in=(Kind.CHANGES_REQUESTED, Kind.REJECTED), review__number__lt=review.number)
    return sent_back.filter(~Exists(approvals)).exists()


def _evidence_warns(review: AppReview, evidence: Evidence) -> bool:
    """Return whether any fact of the evidence does not pass."""
    return any(fact.result != Result.PASS for fact in evidence.facts)


# The codes are stored with each approval, so change the texts rather than the codes.
CHECKLIST = (
    ChecklistItem("signed_in", Group.APP, "I signed in to the app, and it does what is described.", _always),
    ChecklistItem("home_page", Group.APP, "The home page says what the app is and who makes it.", _always),
    ChecklistItem(
        "privacy_policy", Group.APP, "The privacy policy names the app, what it reads and what for.", _always
    ),
    ChecklistItem(
        "identity", Group.APP, "Name and logo imitate nobody, and promise nothing that the app doesn't do.", _always
    ),
    ChecklistItem(
        "scopes", Group.REQUEST, "Each scope that I approve is needed for what is described.", _asks_for_scopes
    ),
    ChecklistItem(
        "asked_before", Group.REQUEST, "The changes that reviewers requested last time are made.", _was_sent_back
    ),
    ChecklistItem("warnings", Group.REQUEST, "I checked each warning of the evidence.", _evidence_warns),
)


def checklist_for(review: AppReview, evidence: Evidence | None = None) -> list[ChecklistItem]:
    """Return the items that are required to approve this review, in order. `evidence` is its evidence, if known."""
    found = collect_evidence(review) if evidence is None else evidence
    return [item for item in CHECKLIST if item.applies(review, found)]


def tick(review: AppReview, actor: Account, checked: Collection[str]) -> list[str]:
    """Write the ticked items to `review.checked`, which the caller saves, and return the codes in order.

    `checked` holds `codes`, `by` (the account's primary key), `at` (ISO 8601, UTC) and `revision`. Raises
    IncompleteSubmission if an item is missing or does not exist.
    """
    items = checklist_for(review, evidence_of(review))
    if missing := [item.text for item in items if item.code not in checked]:
        raise IncompleteSubmission(f"Not everything is ticked: {' '.join(missing)}")
    # An item that applied when the form was opened may no longer apply, for example if a warning has gone.
    if set(checked) - {item.code for item in CHECKLIST}:
        raise IncompleteSubmission("A ticked item is not on the checklist.")
    codes = [item.code for item in items]
    review.checked = {"codes": codes, "by": actor.pk, "at": clock.now().isoformat(), "revision": review.revision}
    return codes


def failing_checks(evidence: Evidence) -> dict[str, str]:
    """Return the titles of the facts that fail, by code. Reviewers who approve despite them have to give a reason."""
    return {fact.code: fact.title for fact in evidence.facts if fact.result == Result.FAIL}


def new_failures(failing: Mapping[str, str], shown: Collection[str]) -> str:
    """Return a message about the failing facts that the reviewer has not seen, because they failed later; or ""."""
    titles = [title for code, title in failing.items() if code not in shown]
    if not titles:
        return ""
    return f"These checks fail as well now: {listed(titles)}. Read the evidence again before you approve the app."


def approved_despite(review: AppReview, reason: str, shown: Collection[str] | None = None) -> dict[str, Any]:
    """Return what the timeline stores of an approval with failing evidence: `despite` and `failing`; {} if none fails.

    These are the cleaned reason and the codes of the facts. `shown` are the codes of the failing facts that the
    reviewer saw, None for the present ones. Raises IncompleteSubmission if there is no reason, or if others fail.
    """
    failing = failing_checks(evidence_of(review))
    if not failing:
        return {}
    if shown is not None and (problem := new_failures(failing, shown)):
        raise IncompleteSubmission(problem)
    despite = clean_text(reason)
    if not despite:
        titles = ", ".join(failing.values())
        raise IncompleteSubmission(f"Say why you approve the app although these checks fail: {titles}.")
    return {"despite": despite, "failing": list(failing)}


def titles_of(codes: Collection[str]) -> list[str]:
    """Return the titles of facts. A code that is no longer a rule's is returned unchanged."""
    known = {rule.code: rule.title for rule in RULES}
    return [known.get(code, code) for code in codes]


def texts_of(codes: Collection[str]) -> list[str]:
    """Return the sentences of stored codes. A code that is no longer on the list is returned unchanged."""
    known = {item.code: item.text for item in CHECKLIST}
    return [known.get(code, code) for code in codes]
