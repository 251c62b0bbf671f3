"""Periodic tasks of the sign-in service: key rotation, and deleting expired rows."""

import logging
from datetime import timedelta

from celery import shared_task
from django.conf import settings

from core import clock
from core.tasks import periodic_task, sum_of_each
from oidc.domains import checking
from oidc.models import Project
from oidc.projects import invitations, lifecycle
from oidc.projects.colleagues import forget_members
from oidc.tokens import expiry, signing_keys

log = logging.getLogger(__name__)


@periodic_task(3600)
def rotate_keys() -> str:
    """Perform the step of key rotation that is due, if any; return the result of `signing_keys.rotate`."""
    return signing_keys.rotate()


@periodic_task(600)
def clear_expired() -> int:
    """Delete expired codes and tokens, and families without any; return the number of deleted rows.

    It replaces the library's command, which would delete superseded refresh tokens and so miss their reuse.
    """
    gone = expiry.delete_expired()
    log.info("Expired rows deleted: %d", gone)
    return gone


@periodic_task(3600)
def remove_deleted_projects() -> int:
    """Delete projects that can no longer be restored; return how many were deleted.

    Their members are stored for another year, for app review (oidc/projects/colleagues.py).
    """
    over = clock.now() - timedelta(days=settings.PROJECT_RESTORE_DAYS)
    forget_members()
    rows = Project.objects.filter(deleted_at__lt=over).order_by("deleted_at")
    keys = list(rows.values_list("pk", flat=True))
    failed = "Project %d could not be removed. This is tried again."
    return sum_of_each(keys, lambda pk: lifecycle.purge_project(Project(pk=pk)), failed)


@periodic_task(3600)
def clear_invitations() -> int:
    """Delete project invitations that were answered or expired some time ago; return how many were deleted."""
    return invitations.clear_ended_invitations()


# Seconds. A single check (core/outbound/) and a run (checking.RUN_SECONDS) have shorter limits.
_TIME_LIMITS = {"soft_time_limit": 280, "time_limit": 290}


@shared_task(**_TIME_LIMITS)
def check_domain(pk: int, asked_by: int | None = None) -> None:
    """Check the proof of one domain on request."""
    checking.check(pk, asked_by)


@periodic_task(300, **_TIME_LIMITS)
def check_domains() -> int:
    """Check the proofs that are due; return how many were checked."""
    return checking.check_due()
