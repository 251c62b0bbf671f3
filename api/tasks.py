"""Periodic work of the developer API."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings

from api.models import RequestLog, UsageBatch
from api.usage import recording, store
from devportal.lib import clock

KEEP_BATCH_IDS = timedelta(days=7)


@shared_task
def flush_usage() -> int:
    """Store the usage counts and log entries gathered since the last run."""
    return recording.flush_usage()


@shared_task
def clear_usage() -> int:
    """Delete counts older than USAGE_DAYS and old batch ids; return how many rows were deleted."""
    old = clock.now() - timedelta(days=settings.USAGE_DAYS)
    # Whole days only, so that the tables by minute, hour and day stay consistent.
    gone = store.clear_before(old.replace(hour=0, minute=0, second=0, microsecond=0))
    batches, _ = UsageBatch.objects.filter(written_at__lt=clock.now() - KEEP_BATCH_IDS).delete()
    return gone + batches


@shared_task
def clear_request_log() -> int:
    """Delete entries of the request log older than REQUEST_LOG_DAYS; return how many went."""
    gone, _ = RequestLog.objects.filter(at__lt=clock.now() - timedelta(days=settings.REQUEST_LOG_DAYS)).delete()
    return gone
