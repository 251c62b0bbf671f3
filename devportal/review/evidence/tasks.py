"""Tasks of the evidence: checking pages, and computing hashes of logos."""

from celery import shared_task

from core.tasks import periodic_task
from devportal.review.evidence import glance, page_checks, similarity

# Each of three URLs takes at most `core.outbound.SECONDS`, so a run ends long before these limits.
_LOOKING = {"soft_time_limit": 60, "time_limit": 70}


@shared_task(**_LOOKING)
def check_pages(pk: int) -> bool:
    """Check the pages of a revision that was just submitted; return False if it no longer exists."""
    return page_checks.check_revision(pk)


@periodic_task(600)
def check_waiting_pages() -> int:
    """Check the pages of submissions whose task was lost; return how many were checked."""
    return page_checks.check_lost()


@periodic_task(600)
def refresh_due_glances() -> int:
    """Refresh what the queue shows of the evidence of waiting submissions; return how many were refreshed."""
    return glance.refresh_due_glances()


@periodic_task(3600)
def fill_logo_hashes() -> int:
    """Compute the missing logo hashes of reviewed apps; return how many were computed."""
    return similarity.fill_missing()
