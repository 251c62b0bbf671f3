"""Periodic task of account recovery; separate from accounts/tasks.py, which the mail modules import."""

from accounts.factors import recovery
from core.tasks import periodic_task


@periodic_task(60)
def advance_recoveries() -> int:
    """Send the reminders of recoveries and complete due ones; return how many changed."""
    return recovery.advance()
