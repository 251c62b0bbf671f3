"""Apps whose project has grown: a sensitive scope that one reviewer approved needs a second approval.

See docs/review.md#two-approvals. The scope stays approved while it waits.
"""

from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery

from devportal.console.models import AppReview, ReviewCase
from devportal.console.reviews.cases import open_case
from devportal.console.reviews.second_approval import SENSITIVE_SCOPE, has_many_people
from oidc.clients.locking import lock_client
from oidc.models import Client
from oidc.projects.locking import Gone

SECOND_APPROVAL = ReviewCase.Kind.SECOND_APPROVAL
# Cases that one run opens at most; the rest waits for the next run.
MOST_A_RUN = 500


def open_due_second_approvals() -> int:
    """Open a case for each app that needs a second approval by now; return how many were opened."""
    many: dict[int, bool] = {}
    opened = 0
    for client in approved_once().select_related("project").order_by("verified_at", "pk").iterator(500):
        if client.project_id not in many:
            many[client.project_id] = has_many_people(client.project)
        opened += many[client.project_id] and _open(client.pk)
        if opened >= MOST_A_RUN:
            break
    return opened


def approved_once() -> "QuerySet[Client]":
    """Return the reviewed apps that hold the sensitive scope by one approval, without an open case for a second one.

    The service's own apps, and what `manage.py provision` approved without a review, are the operator's decision.
    """
    is_open = ReviewCase.objects.filter(client=OuterRef("pk"), kind=SECOND_APPROVAL, closed_at=None)
    approvals = AppReview.objects.filter(client=OuterRef("pk"), status=AppReview.Status.APPROVED).order_by("-number")
    clients: Any = Client.objects.annotate(last_approval=Subquery(approvals.values("pk")[:1]))
    rows: QuerySet[Client] = clients.filter(
        ~Exists(is_open),
        Exists(AppReview.objects.filter(pk=OuterRef("last_approval"), second_approval_at=None)),
        verified_at__isnull=False,
        approved_scopes__contains=SENSITIVE_SCOPE,
        first_party=False,
        project__deleted_at=None,
        project__suspended_at=None,
    )
    return rows


@transaction.atomic
def _open(client_pk: int) -> bool:
    try:
        client = lock_client(client_pk)
    except Gone:
        return False
    if SENSITIVE_SCOPE not in client.approved_scopes.split() or not approved_once().filter(pk=client.pk).exists():
        return False  # withdrawn, or approved again meanwhile
    open_case(SECOND_APPROVAL, client.project, client)
    return True
