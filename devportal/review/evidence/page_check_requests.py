"""Requests to check the pages of a submission, after it is sent and again on demand. Nothing waits for the result."""

from core.limits.counters import check_rate
from core.tasks import queue_task
from devportal.review.evidence.tasks import check_pages
from devportal.review.models import AppReview
from devportal.review.snapshots import latest_revision

CHECKS_PER_MINUTE = 2  # of one submission, by reviewers


def request_check(pk: int) -> None:
    """Have a revision's pages checked in the background. Call it when the transaction is committed."""
    queue_task(check_pages, pk)


def check_again(review: AppReview) -> bool:
    """Have the pages of a review's latest submission checked again; return False if nothing was submitted.

    Raises Throttled beyond CHECKS_PER_MINUTE.
    """
    row = latest_revision(review)
    if row is None:
        return False
    check_rate("page-checks", str(review.pk), CHECKS_PER_MINUTE)
    request_check(row.pk)
    return True
