"""Periodic work of account recovery; apart from accounts/tasks.py, which what it mails with imports."""

from accounts.factors import recovery
from core.tasks import periodic_task


@periodic_task(60)
def advance_recoveries() -> int:
    """Send the reminders of recoveries and do those that are due; return how many moved on."""
    return recovery.advance()
