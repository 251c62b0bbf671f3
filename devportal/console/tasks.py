"""Periodic tasks of the console."""

from datetime import timedelta

from django.conf import settings

from core import clock
from core.database.batches import delete_in_batches
from core.tasks import periodic_task
from devportal.console.analytics import store
from devportal.console.logs import sign_in_writer
from devportal.console.models import IdempotencyToken


@periodic_task(3600)
def clear_sign_in_log() -> int:
    """Delete days of the sign-in log older than SIGN_IN_LOG_DAYS; return the approximate number of deleted rows."""
    return sign_in_writer.clear_before(clock.now() - timedelta(days=settings.SIGN_IN_LOG_DAYS))


@periodic_task(3600)
def clear_sign_in_counts() -> int:
    """Delete sign-in counts older than SIGN_IN_HOUR_DAYS and SIGN_IN_COUNT_DAYS; return the number of deleted rows."""
    return store.clear(clock.now())


@periodic_task(3600)
def forget_sent_forms() -> int:
    """Delete idempotency tokens of forms older than a day; return how many were deleted."""
    return delete_in_batches(IdempotencyToken.objects.filter(at__lt=clock.now() - timedelta(days=1)))
