"""Ending every authorization of a time at once, after a restore or a leak (docs/operations.md#backups)."""

from datetime import datetime

from django.db.models import QuerySet

from devportal.lib import clock
from oidc.models import TokenFamily
from oidc.reasons import Reason

BATCH = 5000  # families of one statement: some 100 ms, so that no request waits long for a lock


def live_families(since: datetime | None = None, before: datetime | None = None) -> "QuerySet[TokenFamily]":
    """Return the families that are not revoked and began within a time; None leaves that end open."""
    families = TokenFamily.objects.filter(revoked_at=None)
    families = families.filter(created_at__gte=since) if since else families
    return families.filter(created_at__lt=before) if before else families


def end_families(families: "QuerySet[TokenFamily]", note: str) -> int:
    """Revoke families with their codes and tokens, in batches; return how many. Consents stay.

    `note` is the operator's, for the apps' developers.
    """
    ended, last = 0, 0
    while True:
        ahead = families.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)
        upto = ahead[BATCH - 1 : BATCH].first() or ahead.last()
        if upto is None:
            return ended
        batch = families.filter(pk__gt=last, pk__lte=upto)
        ended += batch.update(revoked_at=clock.now(), revocation_reason=Reason.ENDED_BY_OPERATOR, revocation_note=note)
        last = upto
