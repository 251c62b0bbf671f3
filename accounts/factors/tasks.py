"""Periodic tasks of account recovery and of closed accounts; separate from accounts/tasks.py, which the mail modules import."""

from accounts.deletion import closing
from accounts.factors import recovery
from core.tasks import periodic_task


@periodic_task(60)
def advance_recoveries() -> int:
    """Send the reminders of recoveries and complete due ones; return how many changed."""
    return recovery.advance()


@periodic_task(600)
def delete_closed_accounts() -> int:
    """Delete the closed accounts whose waiting time is over; return how many were deleted."""
    return closing.delete_due()
