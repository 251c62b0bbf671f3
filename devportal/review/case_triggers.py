"""Cases that open automatically: after changes of a reviewed app, for lost domains, and for regular re-reviews."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.dispatch import receiver

from accounts.models import Account
from core import clock
from devportal.review.cases import Noted, open_case, open_case_of
from devportal.review.models import ReviewCase
from devportal.review.notifications import tell_that_review_is_due
from oidc.clients.lookup import lock_client
from oidc.domains.claims import apps_on
from oidc.domains.results import Change, snapshot
from oidc.models import Client, Project, ProjectDomain
from oidc.projects.roles import Gone
from oidc.signals import client_type_changed, domain_changed, owner_added

CHANGED = ReviewCase.Kind.CHANGED
Event = ReviewCase.Event


@receiver(client_type_changed)
def note_type_change(sender: Any, client: Client, before: str, actor: Account | None, **kwargs: Any) -> None:
    """Open a case when the type of a reviewed app changes, unless an operator's provisioning file changed it."""
    if actor is None or not client.is_verified or client.first_party:
        return
    noted = Noted(Event.TYPE_CHANGED, {"before": before, "after": client.type})
    open_case(CHANGED, client.project, client, noted=noted)


@receiver(owner_added)
def note_new_owner(sender: Any, project: Project, transferred: bool, **kwargs: Any) -> None:
    """Open a case of a project with a reviewed app when it gets another owner. The text names nobody."""
    if not Client.objects.filter(project=project, first_party=False).exclude(verified_at=None).exists():
        return
    open_case(CHANGED, project, noted=Noted(Event.PROJECT_TRANSFERRED if transferred else Event.OWNER_ADDED))


DOMAIN_LOST = ReviewCase.Kind.DOMAIN_LOST
_EVENTS = {
    Change.LOST: Event.DOMAIN_LOST,
    Change.NARROWED: Event.DOMAIN_NARROWED,
    Change.REMOVED: Event.DOMAIN_REMOVED,
    Change.PROVEN: Event.DOMAIN_PROVEN,
    Change.REGAINED: Event.DOMAIN_PROVEN,
    Change.WIDENED: Event.DOMAIN_WIDENED,
}
_OPENS = (Change.LOST, Change.NARROWED, Change.REMOVED)


@receiver(domain_changed)
def note_change(sender: Any, project: Project, domain: ProjectDomain, change: Change, **kwargs: Any) -> None:
    """Open a case for each reviewed app on a domain that lost its proof or was removed, or add to its open case.

    A later proof of the domain is added to a case that is still open. Runs in the transaction of the change, with the
    project locked.
    """
    if change not in _EVENTS or domain.proven_at is None:
        return
    noted = Noted(_EVENTS[change], {"domain": domain.name})
    before = snapshot(domain)
    if change == Change.NARROWED:
        before.method = ProjectDomain.Method.DNS  # the proof that covered the subdomains as well
    for client in apps_on(before):
        if change in _OPENS or open_case_of(DOMAIN_LOST, project, client) is not None:
            open_case(DOMAIN_LOST, project, client, noted=noted)


RE_REVIEW = ReviewCase.Kind.RE_REVIEW
# The maximum number of cases that one run opens, oldest approvals first. The rest waits for the next day.
MOST_A_RUN = 500


def open_due_re_reviews() -> int:
    """Open a case for each verified app whose last review is older than RE_REVIEW_DAYS; return their number.

    Each case is opened in a separate transaction, with the mail to the developers. The service's own apps are left to
    the operator.
    """
    if not settings.RE_REVIEW_DAYS:
        return 0
    before = clock.now() - timedelta(days=settings.RE_REVIEW_DAYS)
    due = list(due_clients(before).values_list("pk", flat=True)[:MOST_A_RUN])
    return sum(_open(pk, before) for pk in due)


def due_clients(before: datetime) -> "QuerySet[Client]":
    """Return the apps whose last review is older than `before` and that have no open case for it, oldest first.

    An app is verified by its first review, so the index of verified clients narrows the search.
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
        return False  # reviewed, withdrawn or deleted in the meantime
    open_case(RE_REVIEW, client.project, client)
    tell_that_review_is_due(client)
    return True
