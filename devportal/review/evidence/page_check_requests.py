"""Requests to check the pages of a submission, after it is sent and again on demand. Nothing waits for the result."""

import logging
import threading

from django.conf import settings
from django.db import connections

from core.limits.counters import check_rate
from core.tasks import queue_task
from devportal.review.evidence.page_checks import check_revision
from devportal.review.evidence.tasks import check_pages
from devportal.review.models import AppReview
from devportal.review.snapshots import latest_revision

log = logging.getLogger(__name__)

CHECKS_PER_MINUTE = 2  # of one submission, by reviewers

_one_at_a_time = threading.Lock()


def request_check(pk: int) -> None:
    """Have a revision's pages checked in the background. Call it when the transaction is committed.

    A worker checks them. In the embedded environment a thread of this process does, one revision at a time, and the
    timer checks the rest.
    """
    if not settings.CELERY_TASK_ALWAYS_EAGER:
        queue_task(check_pages, pk)
    elif _one_at_a_time.acquire(blocking=False):
        threading.Thread(target=_check_here, args=(pk,), daemon=True, name="page checks").start()


def _check_here(pk: int) -> None:
    try:
        check_revision(pk)
    except Exception:
        log.exception("The pages of a submission could not be checked; the timer tries again.")
    finally:
        connections.close_all()  # the connection of this thread
        _one_at_a_time.release()


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
