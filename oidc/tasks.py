"""Periodic tasks of the sign-in service: key rotation, and deleting expired rows."""

import logging
from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.db.models import QuerySet

from devportal.lib import clock
from oidc.models import AccessToken, AuthorizationCode, Project, RefreshToken, TokenFamily
from oidc.projects import invitations, lifecycle
from oidc.signing_keys import rotation

log = logging.getLogger(__name__)

BATCH = 1000
# How long a used or expired code is kept, to detect replay.
KEEP_CODES = timedelta(days=1)
KEEP_FAMILIES = timedelta(days=7)


@shared_task
def rotate_keys() -> str:
    """Perform the step of key rotation that is due, if any."""
    return rotation.rotate()


@shared_task
def clear_expired() -> int:
    """Delete expired codes and tokens, then families without any; return how many rows were deleted.

    Never from the top down: deleting a code takes nothing with it, so what is alive stays. Ours instead of the
    library's, which would delete superseded refresh tokens whose reuse has to be noticed.
    """
    now = clock.now()
    gone = _delete(AccessToken.objects.filter(expires__lt=now))
    gone += _delete(RefreshToken.objects.filter(expires__lt=now))
    gone += _delete(AuthorizationCode.objects.filter(expires__lt=now - KEEP_CODES))
    bare = TokenFamily.objects.filter(
        code=None, access_tokens=None, refresh_tokens=None, created_at__lt=now - KEEP_FAMILIES
    )
    gone += _delete(bare)
    log.info("Expired rows deleted: %d", gone)
    return gone


@shared_task
def remove_deleted_projects() -> int:
    """Delete projects for good that can't be restored any more; return how many were deleted."""
    over = clock.now() - timedelta(days=settings.PROJECT_RESTORE_DAYS)
    rows = list(Project.objects.filter(deleted_at__lt=over).order_by("deleted_at"))
    return sum(lifecycle.purge_project(project) for project in rows)


@shared_task
def clear_invitations() -> int:
    """Delete invitations to projects that were answered or expired some time ago; return how many were deleted."""
    return invitations.clear_ended_invitations()


def _delete(
    rows: "QuerySet[AccessToken] | QuerySet[RefreshToken] | QuerySet[AuthorizationCode] | QuerySet[TokenFamily]",
) -> int:
    """Delete in batches, so that no request waits long for a lock."""
    gone = 0
    while batch := list(rows.values_list("pk", flat=True)[:BATCH]):
        rows.model.objects.filter(pk__in=batch).delete()
        gone += len(batch)
    return gone
