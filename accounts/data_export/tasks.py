"""Tasks of leaving: exports are made and cleared, accounts that were closed are deleted when their time has come."""

from celery import shared_task

from accounts.data_export import creating
from accounts.deletion import closing
from core.tasks import periodic_task

# Seconds for which an export may be made. The row says who is at it, so a task whose worker was lost may come again.
_MAKING = {"acks_late": True, "reject_on_worker_lost": True, "soft_time_limit": 500, "time_limit": 540}


@shared_task(**_MAKING)
def make_export(pk: int) -> bool:
    """Make one export that was asked for; return whether it is ready."""
    return creating.make(pk)


@periodic_task(60, **_MAKING)
def make_waiting_exports() -> int:
    """Make the exports that wait: further tries, and those whose task was lost; return how many became ready."""
    return creating.make_waiting()


@periodic_task(3600)
def clear_exports() -> int:
    """Delete the files of exports after EXPORT_DAYS, and their rows; return how many files went."""
    return creating.clear_old()


@periodic_task(600)
def delete_closed_accounts() -> int:
    """Delete the accounts whose time to change one's mind is over; return how many went."""
    return closing.delete_due()
