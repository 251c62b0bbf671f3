"""Periodic work of account recovery; apart from accounts/tasks.py, which what it mails with imports."""

from celery import shared_task

from accounts.factors import recovery


@shared_task
def advance_recoveries() -> int:
    """Send the reminders of recoveries and do those that are due; return how many moved on."""
    return recovery.advance()
