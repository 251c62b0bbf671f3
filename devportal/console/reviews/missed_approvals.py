"""Approvals by processes of the version before, which did not write down the hosts that they took in.

During a rolling upgrade such a process may approve an app (docs/upgrades.md#expand-and-contract). Until its hosts are
written down people see the app as one that nobody reviewed, so that nothing is open that should not be.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from devportal.console.models import AppReview
from oidc.clients.locking import lock_client
from oidc.clients.reviewed_hosts import set_approved_hosts
from oidc.models import Client
from oidc.projects.locking import Gone

MOST_AT_ONCE = 500  # apps in one run
# An approval writes `last_reviewed_at` and `decided_at` one after the other; a missed one is later by far.
TOLERANCE = timedelta(minutes=1)


def take_in_missed_approvals() -> int:
    """Write down the hosts of approvals that have not done it themselves; return of how many apps."""
    return sum(_take_in(key) for key in _missed().order_by("pk").values_list("pk", flat=True)[:MOST_AT_ONCE])


def _missed() -> "QuerySet[Client]":
    approved = AppReview.objects.filter(client=OuterRef("pk"), status=AppReview.Status.APPROVED).order_by("-number")
    rows: Any = Client.objects.filter(verified_at__isnull=False)
    rows = rows.annotate(decided_at=Subquery(approved.values("decided_at")[:1]))
    missed: QuerySet[Client] = rows.filter(
        Q(last_reviewed_at=None) | Q(decided_at__gt=F("last_reviewed_at") + TOLERANCE)
    )
    return missed


@transaction.atomic
def _take_in(key: int) -> bool:
    """Write down the hosts of one app, from what was sent with its last approval; without a review, those of today."""
    try:
        client = lock_client(key)
    except Gone:
        return False
    if not _missed().filter(pk=key).exists():  # somebody came first
        return False
    review = AppReview.objects.filter(client=client, status=AppReview.Status.APPROVED).order_by("-number").first()
    decided: datetime | None = review.decided_at if review else None
    client.last_reviewed_at = decided or client.verified_at
    sent = review.snapshot.get("redirect_urls") if review else None
    set_approved_hosts(client, client.redirect_uris.split() if sent is None else sent)
    client.save(update_fields=["approved_hosts", "reviewed_hosts", "last_reviewed_at"])
    return True
