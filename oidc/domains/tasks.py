"""Tasks that check the proofs of domains."""

from celery import shared_task

from core.tasks import periodic_task
from oidc.domains import checking

# Seconds. A single check (core/outbound/) and a run (checking.RUN_SECONDS) have shorter limits.
_TIME_LIMITS = {"soft_time_limit": 280, "time_limit": 290}


@shared_task(**_TIME_LIMITS)
def check_domain(pk: int, asked_by: int | None = None) -> None:
    """Check the proof of one domain on request."""
    checking.check(pk, asked_by)


@periodic_task(300, **_TIME_LIMITS)
def check_domains() -> int:
    """Check the proofs that are due; return how many were checked."""
    return checking.check_due()
