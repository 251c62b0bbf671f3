"""The summary of the evidence in the queue. It is stored with the review, because gathering evidence takes long."""

import logging
from datetime import timedelta
from typing import Any

from core import clock
from devportal.review.evidence.collecting import collect_evidence
from devportal.review.evidence.facts import Result
from devportal.review.models import AppReview
from devportal.review.submission.second_approval import needs_second_approval

log = logging.getLogger(__name__)

REFRESH_AFTER = timedelta(hours=1)
MOST_A_RUN = 100  # reviews that one run of the periodic task refreshes; the rest waits for the next run


def refresh_glance(review: AppReview) -> None:
    """Store how many facts of the evidence fail, how many people use the app, and whether two reviewers must approve.

    Does nothing if the review was submitted again in between.
    """
    evidence = collect_evidence(review)
    usage = evidence.gathered.usage
    glance = {
        "failing": sum(fact.result is Result.FAIL for fact in evidence.facts),
        "people": usage.people,
        "people_is_more": usage.people_is_more,
        "takes_two": needs_second_approval(review),
    }
    AppReview.objects.filter(pk=review.pk, revision=review.revision).update(glance=glance, glance_at=clock.now())


def refresh_due_glances() -> int:
    """Refresh what the queue shows of waiting reviews, the oldest first; return how many were refreshed."""
    waiting = AppReview.objects.waiting().select_related("client__project")
    due = waiting.filter(glance_at=None)[:MOST_A_RUN]
    rows = list(due) or list(waiting.filter(glance_at__lt=clock.now() - REFRESH_AFTER)[:MOST_A_RUN])
    for review in rows:
        try:
            refresh_glance(review)
        except Exception:
            # The other reviews are still refreshed, and this one is tried again an hour later.
            log.exception("The evidence of a review could not be gathered.")
            AppReview.objects.filter(pk=review.pk).update(glance_at=clock.now())
    return len(rows)


def notes_of(review: AppReview) -> list[str]:
    """Return what the queue says about a waiting review, in few words each, without the scopes."""
    if review.glance is None:
        return ["Evidence is being gathered"]
    return [text for text in (_failing(review.glance), _people(review.glance), _approval(review)) if text]


def _failing(glance: dict[str, Any]) -> str:
    failing = glance["failing"]
    return f"{failing} failing check{'' if failing == 1 else 's'}" if failing else "No failing check"


def _people(glance: dict[str, Any]) -> str:
    people = glance["people"]
    if glance["people_is_more"]:
        return f"More than {people:,} people"
    return f"{people:,} {'person' if people == 1 else 'people'}" if people else "Nobody uses it yet"


def _approval(review: AppReview) -> str:
    if review.first_approval_by_id is not None:
        return "Second approval missing"
    return "Takes two approvals" if review.glance and review.glance["takes_two"] else ""
