"""Periodic tasks of recovery and of closed accounts, separate from accounts/tasks.py, which email modules import."""

from accounts.recovery import closing, waiting
from core.tasks import periodic_task


@periodic_task(60)
def advance_recoveries() -> int:
    """Send the reminders of recoveries and complete due ones; return how many changed."""
    return waiting.advance()


@periodic_task(600)
def delete_closed_accounts() -> int:
    """Delete the closed accounts whose waiting time is over; return how many were deleted."""
    return closing.delete_due()
