"""Periodic work of the developer API."""

from datetime import timedelta

from django.conf import settings

from api import leak_report_keys, leaked_credentials, request_log, usage_counts
from api.models import UsageBatch
from core import clock
from core.database.batches import delete_in_batches
from core.tasks import periodic_task

KEEP_BATCH_IDS = timedelta(days=7)


@periodic_task(10)
def flush_usage() -> int:
    """Store the usage counts and log entries gathered since the last run."""
    return usage_counts.flush_usage()


@periodic_task(10)
def handle_leak_reports() -> int:
    """Revoke or flag the credentials that were reported as leaked; return how many reports were handled."""
    return leaked_credentials.handle_reports()


@periodic_task(600)
def fetch_scanner_keys() -> bool:
    """Fetch the public keys of secret scanners; return whether new ones were stored."""
    return leak_report_keys.fetch_keys()


@periodic_task(3600)
def clear_usage() -> int:
    """Delete counts older than USAGE_DAYS and old batch ids; return the approximate number of deleted rows."""
    old = clock.now() - timedelta(days=settings.USAGE_DAYS)
    # Whole days only, so that the tables by minute, hour and day stay consistent.
    gone = usage_counts.clear_before(old.replace(hour=0, minute=0, second=0, microsecond=0))
    return gone + delete_in_batches(UsageBatch.objects.filter(written_at__lt=clock.now() - KEEP_BATCH_IDS))


@periodic_task(3600)
def clear_request_log() -> int:
    """Delete the days of the request log older than REQUEST_LOG_DAYS; return the approximate number of rows."""
    return request_log.clear_before(clock.now() - timedelta(days=settings.REQUEST_LOG_DAYS))
