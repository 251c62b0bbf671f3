"""Periodic tasks of the console."""

from datetime import timedelta

from django.conf import settings

from devportal.console.analytics import store
from devportal.console.logs import sign_in_writer
from devportal.console.models import AuditEvent, IdempotencyToken
from devportal.console.reviews import alerts, case_alerts, grown_apps, re_reviews
from devportal.lib import clock
from devportal.lib.batches import delete_in_batches, delete_oldest
from devportal.lib.tasks import periodic_task


@periodic_task(3600)
def clear_sign_in_log() -> int:
    """Delete the days of the sign-in log that are older than SIGN_IN_LOG_DAYS; return about how many rows went."""
    return sign_in_writer.clear_before(clock.now() - timedelta(days=settings.SIGN_IN_LOG_DAYS))


@periodic_task(3600)
def clear_sign_in_counts() -> int:
    """Delete counts of sign-ins older than SIGN_IN_HOUR_DAYS and SIGN_IN_COUNT_DAYS; return how many rows went."""
    return store.clear(clock.now())


@periodic_task(3600)
def clear_audit_events() -> int:
    """Delete audit events older than AUDIT_DAYS, the one change that is made to the trail; return how many went."""
    if not settings.AUDIT_DAYS:
        return 0
    return delete_oldest(AuditEvent.objects.all(), "at", clock.now() - timedelta(days=settings.AUDIT_DAYS))


@periodic_task(3600)
def forget_sent_forms() -> int:
    """Delete idempotency tokens of forms older than a day; return how many were deleted."""
    return delete_in_batches(IdempotencyToken.objects.filter(at__lt=clock.now() - timedelta(days=1)))


@periodic_task(3600)
def open_re_reviews() -> int:
    """Open cases for verified apps that were reviewed more than RE_REVIEW_DAYS ago; return how many were opened."""
    return re_reviews.open_due_re_reviews()


@periodic_task(3600)
def open_second_approvals() -> int:
    """Open cases for apps that have many people by now and a sensitive scope by one approval; return how many."""
    return grown_apps.open_due_second_approvals()


@periodic_task(600)
def announce_submissions() -> int:
    """Mail the reviewers what was submitted for review since the last time; return how many submissions."""
    return alerts.announce_submissions()


@periodic_task(3600)
def announce_late_reviews() -> int:
    """Mail the reviewers what has begun to wait for longer than REVIEW_TARGET_DAYS; return how many submissions."""
    return alerts.announce_late_reviews()


@periodic_task(600)
def announce_cases() -> int:
    """Mail the reviewers which cases were opened since the last time; return how many."""
    return case_alerts.announce_cases()


@periodic_task(3600)
def announce_late_cases() -> int:
    """Mail the reviewers which cases have been open for longer than CASE_TARGET_DAYS; return how many."""
    return case_alerts.announce_late_cases()
