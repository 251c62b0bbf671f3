"""Tasks of the evidence: looking at pages, and computing hashes of logos."""

from celery import shared_task

from core.tasks import periodic_task
from devportal.review.evidence import page_checks, similarity

# Each of three addresses takes `core.outbound.SECONDS` at most, so a run ends long before these.
_LOOKING = {"soft_time_limit": 60, "time_limit": 70}


@shared_task(**_LOOKING)
def check_pages(pk: int) -> bool:
    """Look at the pages of one revision that has just been sent; return False if it is gone."""
    return page_checks.check_revision(pk)


@periodic_task(600)
def check_waiting_pages() -> int:
    """Look at the pages of submissions whose own task was lost; return how many were looked at."""
    return page_checks.check_lost()


@periodic_task(3600)
def fill_logo_hashes() -> int:
    """Compute the hashes that the logos of verified apps lack; return how many were computed."""
    return similarity.fill_missing()
