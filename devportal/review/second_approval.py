"""Second approvals of sensitive scopes in projects with many people, and apps whose project has grown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.dispatch import receiver

from accounts.models import Account
from accounts.roles import is_reviewer, roles_changed
from accounts.signals import access_ended
from core import clock
from devportal.review.alerts import tell_of_first_approval
from devportal.review.cases import open_case
from devportal.review.models import AppReview, ReviewCase, ReviewEntry
from devportal.review.timeline import record_entry
from devportal.review.workflow import ReviewNotAllowed, may_decide
from oidc.clients.lookup import lock_client
from oidc.models import Client, Connection, Project
from oidc.projects.roles import Gone

# It opens what somebody's account holds, so approving it for many people takes two reviewers.
SENSITIVE_SCOPE = "account.read"
# People are counted up to this number, as in the evidence; so a threshold of as many is never reached.
MOST_COUNTED = 10_000
NO_FIRST_APPROVAL: dict[str, None] = {"first_approval_by": None, "first_approval_at": None, "first_approval": None}


@dataclass(frozen=True)
class FirstApproval:
    """The approval of the first of two reviewers: `scopes` maps each scope to the decision, `text` is their note."""

    by: Account
    at: datetime
    scopes: dict[str, bool]
    text: str


def has_many_people(project: Project) -> bool:
    """Return whether more than REVIEW_SECOND_KEY_PEOPLE people ever authorized an app of the project.

    Reads at most one person more than that. With a threshold of 0 every project has many people; with one of
    MOST_COUNTED none has.
    """
    threshold = settings.REVIEW_SECOND_KEY_PEOPLE
    if threshold == 0 or threshold >= MOST_COUNTED:
        return threshold == 0
    people = Connection.objects.filter(client__project=project).order_by().values("account").distinct()
    return people[: threshold + 1].count() > threshold


def needs_second_approval(review: AppReview) -> bool:
    """Return whether an approval takes two reviewers: what is asked for is sensitive, and the project has many people.

    A scope that is held and kept is among those that are asked for. It does not matter what is decided on it.
    """
    return SENSITIVE_SCOPE in review.snapshot.get("scopes", {}) and has_many_people(review.client.project)


def first_approval(review: AppReview) -> FirstApproval | None:
    """Return the first approval if it stands: for the present revision, by somebody who may still decide on it."""
    given = review.first_approval
    by = review.first_approval_by
    if not given or by is None or review.first_approval_at is None or review.status != AppReview.Status.IN_REVIEW:
        return None
    if given["revision"] != review.revision or not may_decide(by, review.client.project, review):
        return None
    return FirstApproval(by, review.first_approval_at, given["scopes"], given["text"])


def note_or_complete(
    review: AppReview, actor: Account, scopes: Mapping[str, bool], ticked: Sequence[str], text: str
) -> FirstApproval | None:
    """Return the first approval that `actor` completes, or None after noting theirs as the first.

    The client is locked: of two reviewers at once, the second to lock it gives the second approval. Another decision
    than the first one takes its place, and its reviewer is told. `ticked` are the codes of the checklist, for the
    timeline. Raises ReviewNotAllowed for the person who gave the first one.
    """
    held = first_approval(review)
    if held is not None and held.by.pk == actor.pk:
        raise ReviewNotAllowed(
            "You have approved this already. It takes effect once a second reviewer decides the same."
        )
    decided = {scope: bool(yes) for scope, yes in scopes.items()}
    if held is not None and held.scopes == decided:
        return held
    review.first_approval_by, review.first_approval_at = actor, clock.now()
    review.first_approval = {"revision": review.revision, "scopes": decided, "text": text}
    review.save(update_fields=list(NO_FIRST_APPROVAL))
    details: dict[str, Any] = {"name": review.snapshot.get("name", ""), "revision": review.revision}
    details |= {"scopes": decided, "checked": list(ticked)}
    client = review.client
    kind, side = ReviewEntry.Kind.FIRST_APPROVAL, ReviewEntry.Side.REVIEWER
    record_entry(kind, side, actor, client.project, client, review, text=text, details=details)
    tell_of_first_approval(review, actor)
    return None


def drop_first_approval(review: AppReview) -> None:
    """Forget the first approval; the caller saves the review."""
    review.first_approval_by = review.first_approval_at = review.first_approval = None


# --- Who reads it ---


def has_decided(review: AppReview, account: Account) -> bool:
    """Return whether this reviewer has given an approval of the present revision, first or replaced."""
    given = ReviewEntry.objects.filter(review=review, kind=ReviewEntry.Kind.FIRST_APPROVAL, author=account)
    return any(details.get("revision") == review.revision for details in given.values_list("details", flat=True))


def without_undecided(entries: Iterable[ReviewEntry], account: Account) -> list[ReviewEntry]:
    """Return timeline entries without first approvals that this reviewer may not read yet.

    Once the review has ended, every reviewer may.
    """
    known: dict[int, bool] = {}
    shown = []
    for entry in entries:
        review = entry.review
        if entry.kind == ReviewEntry.Kind.FIRST_APPROVAL and review and review.status == AppReview.Status.IN_REVIEW:
            if review.pk not in known:
                known[review.pk] = has_decided(review, account)
            if not known[review.pk]:
                continue
        shown.append(entry)
    return shown


# --- What ends it ---


@receiver(access_ended)
def end_approvals_of_a_closed_account(sender: Any, account: Account, **kwargs: Any) -> None:
    """End the first approvals of a person whose account is deactivated, closed or deleted."""
    rows = AppReview.objects.filter(status=AppReview.Status.IN_REVIEW, first_approval_by=account)
    rows.update(**NO_FIRST_APPROVAL)


@receiver(roles_changed)
def end_approvals_of_a_former_reviewer(sender: Any, account: Account, **kwargs: Any) -> None:
    """End the first approvals of a person who is no reviewer any more; they don't come back with the role."""
    if not is_reviewer(account):
        end_approvals_of_a_closed_account(sender, account)


# See docs/review.md#two-approvals. The scope stays approved while it waits.

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
