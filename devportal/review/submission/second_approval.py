"""Second approvals of sensitive scopes in projects with many people, also after a project has grown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.dispatch import receiver

from accounts.models import Account
from accounts.roles import is_reviewer, roles_changed
from accounts.signals import access_ended
from core import clock
from core.tasks import sum_of_each
from devportal.review.cases.cases import open_case
from devportal.review.models import AppReview, ReviewCase, ReviewEntry
from devportal.review.rules.notifications import mail_first_approval
from devportal.review.rules.snapshots import sensitive_among
from devportal.review.rules.timeline import record_entry
from devportal.review.rules.workflow import MEASURES, ReviewNotAllowed, may_decide
from oidc.apis.scopes import known_scopes
from oidc.clients.lookup import lock_client
from oidc.models import Client, Connection, Project
from oidc.projects.roles import Gone

# People are counted up to this number, as in the evidence, so a threshold this high is never exceeded.
MOST_COUNTED = 10_000
NO_FIRST_APPROVAL: dict[str, None] = {"first_approval_by": None, "first_approval_at": None, "first_approval": None}


@dataclass(frozen=True)
class FirstApproval:
    """The approval of the first of two reviewers. `scopes` maps each scope to the decision, `text` is the note.

    `domains` are the proven domains that the page showed.
    """

    by: Account
    at: datetime
    scopes: dict[str, bool]
    text: str
    domains: frozenset[str]


def has_many_people(project: Project) -> bool:
    """Return whether more than REVIEW_SECOND_KEY_PEOPLE people ever authorized an app of the project.

    Reads at most one person more than that. With a threshold of 0 every project has many people, with MOST_COUNTED
    none.
    """
    threshold = settings.REVIEW_SECOND_KEY_PEOPLE
    if threshold == 0 or threshold >= MOST_COUNTED:
        return threshold == 0
    people = Connection.objects.filter(client__project=project).order_by().values("account").distinct()
    return people[: threshold + 1].count() > threshold


def needs_second_approval(review: AppReview) -> bool:
    """Return whether an approval takes two reviewers: a sensitive scope is requested, and the project has many people.

    Requested scopes include the ones that the app already holds and keeps. The decision on the scope does not matter.
    """
    return bool(sensitive_among(review.snapshot.get("scopes", {}))) and has_many_people(review.client.project)


def first_approval(review: AppReview) -> FirstApproval | None:
    """Return the first approval if it is valid: for the present revision, by someone who may still decide on it."""
    given = review.first_approval
    by = review.first_approval_by
    if not given or by is None or review.first_approval_at is None or review.status != AppReview.Status.IN_REVIEW:
        return None
    if given["revision"] != review.revision or not may_decide(by, review.client.project, review):
        return None
    return FirstApproval(by, review.first_approval_at, given["scopes"], given["text"], frozenset(given["domains"]))


def note_or_complete(
    review: AppReview,
    actor: Account,
    scopes: Mapping[str, bool],
    text: str,
    noted: Mapping[str, Any],
    domains: Iterable[str],
) -> FirstApproval | None:
    """Return the first approval that `actor` completes, or None after noting theirs as the first.

    The client is locked, so of two simultaneous reviewers the second to lock it gives the second approval. A decision
    that differs from the first one replaces it, and the first reviewer is notified. `noted` is what the timeline stores
    as well, such as the ticked checklist. `domains` are the proven domains that the page showed. Raises
    ReviewNotAllowed for the person who gave the first approval.
    """
    held = first_approval(review)
    if held is not None and held.by.pk == actor.pk:
        raise ReviewNotAllowed(
            "You have already approved this. It takes effect once a second reviewer makes the same decision."
        )
    decided = {scope: bool(yes) for scope, yes in scopes.items()}
    if held is not None and held.scopes == decided:
        return held
    review.first_approval_by, review.first_approval_at = actor, clock.now()
    given = {"revision": review.revision, "scopes": decided, "text": text, "domains": list(domains)}
    review.first_approval = given
    review.save(update_fields=list(NO_FIRST_APPROVAL))
    details: dict[str, Any] = {"name": review.snapshot.get("name", ""), "revision": review.revision}
    details |= {"scopes": decided, **noted}
    client = review.client
    kind, side = ReviewEntry.Kind.FIRST_APPROVAL, ReviewEntry.Side.REVIEWER
    record_entry(kind, side, actor, client.project, client, review, text=text, details=details)
    mail_first_approval(review, actor, deciders(review))
    return None


def drop_first_approval(review: AppReview) -> None:
    """Clear the first approval. The caller saves the review."""
    review.first_approval_by = review.first_approval_at = review.first_approval = None


# --- Visibility ---


def deciders(review: AppReview) -> set[int]:
    """Return the primary keys of the reviewers who approved the present revision, also if another decision followed.

    Approvals from before an appeal or a measure don't count, because reviewers decide on the same revision again.
    """
    given = ReviewEntry.objects.filter(review=review, kind=ReviewEntry.Kind.FIRST_APPROVAL, author__isnull=False)
    if review.appealed_at is not None:
        given = given.filter(at__gte=review.appealed_at)
    measures = ReviewEntry.objects.filter(project=OuterRef("project"), kind__in=MEASURES, pk__gt=OuterRef("pk"))
    known = given.filter(~Exists(measures), details__revision=review.revision)
    return set(known.values_list("author", flat=True))


def without_undecided(entries: Iterable[ReviewEntry], account: Account) -> list[ReviewEntry]:
    """Return timeline entries without first approvals that this reviewer may not read yet.

    After the review has ended, every reviewer may read them.
    """
    known: dict[int, bool] = {}
    shown = []
    for entry in entries:
        review = entry.review
        if entry.kind == ReviewEntry.Kind.FIRST_APPROVAL and review and review.status == AppReview.Status.IN_REVIEW:
            if review.pk not in known:
                known[review.pk] = account.pk in deciders(review)
            if not known[review.pk]:
                continue
        shown.append(entry)
    return shown


# --- End of a first approval ---


def end_first_approvals(project: Project) -> None:
    """End the first approvals of a project's apps: their reviewers did not know the measure that was just taken."""
    rows = AppReview.objects.filter(status=AppReview.Status.IN_REVIEW, client__project=project)
    rows.update(**NO_FIRST_APPROVAL)


@receiver(access_ended)
def end_approvals_of_a_closed_account(sender: Any, account: Account, **kwargs: Any) -> None:
    """End the first approvals of a person whose account is deactivated, closed or deleted."""
    rows = AppReview.objects.filter(status=AppReview.Status.IN_REVIEW, first_approval_by=account)
    rows.update(**NO_FIRST_APPROVAL)


@receiver(roles_changed)
def end_approvals_of_a_former_reviewer(sender: Any, account: Account, **kwargs: Any) -> None:
    """End the first approvals of a person who is no longer a reviewer. They don't return with the role."""
    if not is_reviewer(account):
        end_approvals_of_a_closed_account(sender, account)


# See docs/review.md#two-approvals. The scope stays approved while it waits.

SECOND_APPROVAL = ReviewCase.Kind.SECOND_APPROVAL
# The maximum number of cases that one run opens. The rest waits for the next run.
MOST_A_RUN = 500


def open_due_second_approvals() -> int:
    """Open a case for each app that now needs a second approval; return how many were opened."""
    many: dict[int, bool] = {}
    opened = 0
    for client in approved_once().select_related("project").order_by("verified_at", "pk").iterator(500):
        if client.project_id not in many:
            many[client.project_id] = has_many_people(client.project)
        if many[client.project_id]:
            opened += sum_of_each([client.pk], _open, "No second approval of app %d could be asked for.")
        if opened >= MOST_A_RUN:
            break
    return opened


def approved_once() -> "QuerySet[Client]":
    """Return the reviewed apps that hold a sensitive scope with one approval, and have no open case for a second one.

    An app with a scope whose name only contains that of a sensitive one is included as well. The service's own apps,
    and apps that `manage.py provision` approved without a review, are the operator's decision.
    """
    is_open = ReviewCase.objects.filter(client=OuterRef("pk"), kind=SECOND_APPROVAL, closed_at=None)
    approvals = AppReview.objects.filter(client=OuterRef("pk"), status=AppReview.Status.APPROVED).order_by("-number")
    clients: Any = Client.objects.annotate(last_approval=Subquery(approvals.values("pk")[:1]))
    rows: QuerySet[Client] = clients.filter(
        ~Exists(is_open),
        Exists(AppReview.objects.filter(pk=OuterRef("last_approval"), second_approval_at=None)),
        _may_hold_a_sensitive_scope(),
        verified_at__isnull=False,
        first_party=False,
        project__deleted_at=None,
        project__suspended_at=None,
    )
    return rows


def _may_hold_a_sensitive_scope() -> Q:
    names = sensitive_among(known_scopes())
    return reduce(or_, (Q(approved_scopes__contains=name) for name in names), Q(pk__in=()))


@transaction.atomic
def _open(client_pk: int) -> bool:
    try:
        client = lock_client(client_pk)
    except Gone:
        return False
    if not sensitive_among(client.approved_scopes.split()) or not approved_once().filter(pk=client.pk).exists():
        return False  # withdrawn or approved again in the meantime
    open_case(SECOND_APPROVAL, client.project, client)
    return True
