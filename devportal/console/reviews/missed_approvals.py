"""Approvals by processes of an earlier version, which did not store the hosts and domains that they cover.

During a rolling upgrade such a process may approve an app (docs/upgrades.md#expand-and-contract). Until its hosts and
domains are written down people see the app as unreviewed there, so that nothing is open that should not be.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform

from devportal.console.models import AppReview
from devportal.console.reviews.domain_rules import addresses_to_prove, cover_submission
from devportal.console.reviews.snapshots import client_values
from oidc.clients.locking import lock_client
from oidc.clients.reviewed_hosts import REVIEWED_COLUMNS, set_approved_hosts
from oidc.models import Client
from oidc.projects.locking import Gone

MOST_AT_ONCE = 500  # apps in one run
# An approval writes `last_reviewed_at` and `decided_at` one after the other; a missed one is later by far.
TOLERANCE = timedelta(minutes=1)


def take_in_missed_approvals() -> int:
    """Write down what approvals cover that have not done it themselves; return of how many apps."""
    return sum(_take_in(key) for key in _missed().order_by("pk").values_list("pk", flat=True)[:MOST_AT_ONCE])


def _missed() -> "QuerySet[Client]":
    approved = AppReview.objects.filter(client=OuterRef("pk"), status=AppReview.Status.APPROVED).order_by("-number")
    rows: Any = Client.objects.filter(verified_at__isnull=False)
    rows = rows.annotate(
        decided_at=Subquery(approved.values("decided_at")[:1]),
        domains=Subquery(approved.annotate(domains=KeyTextTransform("domains", "snapshot")).values("domains")[:1]),
    )
    missed: QuerySet[Client] = rows.filter(
        Q(last_reviewed_at=None)
        | Q(decided_at__gt=F("last_reviewed_at") + TOLERANCE)
        | Q(decided_at__isnull=False, domains__isnull=True)
    )
    return missed


@transaction.atomic
def _take_in(key: int) -> bool:
    """Write down what one app's last approval covers, from what was sent with it; without a review, that of today."""
    try:
        client = lock_client(key)
    except Gone:
        return False
    if not _missed().filter(pk=key).exists():  # somebody came first
        return False
    review = AppReview.objects.filter(client=client, status=AppReview.Status.APPROVED).order_by("-number").first()
    decided: datetime | None = review.decided_at if review else None
    client.last_reviewed_at = max(filter(None, (client.last_reviewed_at, decided)), default=client.verified_at)
    if review is None:
        now = client_values(client)
        set_approved_hosts(client, now["redirect_urls"], addresses_to_prove(now))
    else:
        cover_submission(client, review)
        review.save(update_fields=["snapshot"])
    client.save(update_fields=[*REVIEWED_COLUMNS, "last_reviewed_at"])
    return True
