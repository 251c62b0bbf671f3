"""Tasks that look for the proofs of domains."""

from celery import shared_task

from core.tasks import periodic_task
from oidc.domains import checking

# Seconds; a look has its own bounds (core/outbound/), and a run too (checking.RUN_SECONDS).
_LOOKING = {"soft_time_limit": 280, "time_limit": 290}


@shared_task(**_LOOKING)
def check_domain(pk: int, asked_by: int | None = None) -> None:
    """Look for the proof of one domain, because somebody asked for it."""
    checking.check(pk, asked_by)


@periodic_task(300, **_LOOKING)
def check_domains() -> int:
    """Look for the proofs that are due; return how many were looked at."""
    return checking.check_due()
