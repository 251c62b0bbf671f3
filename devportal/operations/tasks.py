"""Periodic tasks of the audit trail."""

from datetime import timedelta

from django.conf import settings

from core import clock
from core.database.batches import delete_oldest
from core.tasks import periodic_task
from devportal.console.models import AuditEvent


@periodic_task(3600)
def clear_audit_events() -> int:
    """Delete audit events older than AUDIT_DAYS; return how many. The trail is never changed otherwise."""
    if not settings.AUDIT_DAYS:
        return 0
    return delete_oldest(AuditEvent.objects.all(), "at", clock.now() - timedelta(days=settings.AUDIT_DAYS))
