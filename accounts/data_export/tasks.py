"""Tasks of data export."""

from celery import shared_task

from accounts.data_export import creating
from core.tasks import periodic_task

# Seconds for creating an export. The row says who is working on it, so a task whose worker was lost may run again.
_MAKING = {"acks_late": True, "reject_on_worker_lost": True, "soft_time_limit": 500, "time_limit": 540}


@shared_task(**_MAKING)
def make_export(pk: int) -> bool:
    """Create one requested export; return whether it is ready."""
    return creating.make(pk)


@periodic_task(60, **_MAKING)
def make_waiting_exports() -> int:
    """Create the exports that wait, for further attempts and lost tasks; return how many became ready."""
    return creating.make_waiting()


@periodic_task(3600)
def clear_exports() -> int:
    """Delete the files of exports after EXPORT_DAYS, and their rows; return how many files were deleted."""
    return creating.clear_old()
