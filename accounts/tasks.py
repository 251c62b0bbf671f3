"""Periodic work of accounts."""

from celery import shared_task

from accounts.plans import lifecycle


@shared_task
def advance_subscriptions() -> int:
    """Write what time has brought to subscriptions; return how many moved. Answers are right without it."""
    return lifecycle.advance()
