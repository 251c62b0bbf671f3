"""Reviews on a schedule: an app that was looked at long ago gets a case at the desk (docs/review.md#re-review)."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from devportal.console.models import ReviewCase
from devportal.console.reviews.case_mails import tell_that_review_is_due
from devportal.console.reviews.cases import open_case
from devportal.lib import clock
from oidc.clients.locking import lock_client
from oidc.models import Client
from oidc.projects.locking import Gone

RE_REVIEW = ReviewCase.Kind.RE_REVIEW
# Cases that one run opens at most, the oldest approvals first; the rest waits for the next day.
MOST_A_RUN = 500


def open_due_re_reviews() -> int:
    """Open a case for each verified app that no review has looked at for RE_REVIEW_DAYS; return how many were opened.

    Each in its own transaction, with the mail to its developers. The service's own apps are their operator's.
    """
    if not settings.RE_REVIEW_DAYS:
        return 0
    before = clock.now() - timedelta(days=settings.RE_REVIEW_DAYS)
    due = list(due_clients(before).values_list("pk", flat=True)[:MOST_A_RUN])
    return sum(_open(pk, before) for pk in due)


def due_clients(before: datetime) -> "QuerySet[Client]":
    """Return the apps whose last review is older than `before` and which have no open case for it, oldest first.

    Nothing was reviewed before it was verified, so that the index of verified clients narrows the search.
    """
    is_open = ReviewCase.objects.filter(client=OuterRef("pk"), kind=RE_REVIEW, closed_at=None)
    rows: QuerySet[Client] = Client.objects.filter(
        ~Exists(is_open),
        verified_at__lt=before,
        last_reviewed_at__lt=before,
        first_party=False,
        project__deleted_at=None,
        project__suspended_at=None,
    )
    return rows.order_by("verified_at")


@transaction.atomic
def _open(client_pk: int, before: datetime) -> bool:
    try:
        client = lock_client(client_pk)
    except Gone:
        return False
    if not due_clients(before).filter(pk=client.pk).exists():
        return False  # reviewed, withdrawn or deleted meanwhile
    open_case(RE_REVIEW, client.project, client)
    tell_that_review_is_due(client)
    return True
