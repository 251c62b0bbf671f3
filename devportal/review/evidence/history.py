"""Gathering of the people behind an app, their other apps, and what happened before."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BooleanField, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KT

from accounts.models import Account
from core import clock
from devportal.console.models import AuditEvent
from devportal.review.evidence.gathered import KnownCase, OtherApps, Part, Person, Setback
from devportal.review.models import AppReport, AppReview, ReviewCase, ReviewEntry, ReviewRevision
from devportal.review.rules.timeline import action_of
from oidc.models import Client, FormerMember, Project, ProjectMember

Kind = ReviewEntry.Kind
# Actions of the audit trail that only owners and people who submit an app take.
_OF_OWNERS_AND_SUBMITTERS = (
    "project.created",
    "project.deleted",
    action_of(Kind.SUBMITTED),
    action_of(Kind.RESUBMITTED),
)
# Actions that can make a person an owner, with the new role.
_OF_NEW_OWNERS = ("invitation.accepted", "member.role_changed", "project.transferred")
SETBACKS = (Kind.REJECTED, Kind.APPROVAL_WITHDRAWN, Kind.SUSPENDED)
MAX_OWNERS = 20  # of each: present, former, and people who submitted
MAX_PROJECTS = 100  # other projects of these people
MAX_APPS = 200
MAX_SETBACKS = 50
MAX_CASES = 50
MAX_REPORTS = 500
REPORT_DAYS = 365  # older reports say nothing about the present submission


@dataclass(frozen=True)
class Behind:
    """A person behind an app, and their part in its project."""

    account: Account
    part: Part
    until: datetime | None = None


def people_behind(review: AppReview) -> list[Behind]:
    """Return the submitter of the review, and everyone who owns or owned the project or ever submitted anything in it.

    Nobody disappears from the evidence by leaving the project. Each person is listed once.
    """
    project = review.client.project_id
    found = [Behind(review.submitted_by, Part.SUBMITTER)] if review.submitted_by else []
    held = Q(role=ProjectMember.Role.OWNER) | Q(owner_until__isnull=False)
    members = ProjectMember.objects.filter(held, project=project).select_related("account").order_by("pk")
    found += [_owner(row.account, row.owner_until, row.role) for row in members[:MAX_OWNERS]]
    former = FormerMember.objects.filter(project=project, owner_until__isnull=False).select_related("account")
    rows = former.order_by("-owner_until")[:MAX_OWNERS]
    found += [_owner(row.account, row.owner_until) for row in rows]
    revisions = ReviewRevision.objects.filter(review__client__project=project).values("sent_by")
    reviews = AppReview.objects.filter(client__project=project).values("submitted_by")
    once: dict[int, Behind] = {}
    for one in found:
        once.setdefault(one.account.pk, one)
    # One union instead of two conditions: with OR, PostgreSQL reads all accounts.
    senders = Account.objects.filter(pk__in=revisions.union(reviews)).exclude(pk__in=once).order_by("-pk")
    return [*once.values(), *(Behind(account, Part.EARLIER_SUBMITTER) for account in senders[:MAX_OWNERS])]


def _owner(account: Account, until: datetime | None, role: str = "") -> Behind:
    is_owner = role == ProjectMember.Role.OWNER
    return Behind(account, Part.OWNER) if is_owner else Behind(account, Part.FORMER_OWNER, until)


def gather_people(review: AppReview, behind: Sequence[Behind]) -> list[Person]:
    """Return the people behind an app with the age of their accounts."""
    gone = [Person("", None, Part.SUBMITTER)] if review.submitted_by is None and review.revision else []
    return [*gone, *(Person(one.account.email, one.account.created_at, one.part, one.until) for one in behind)]


def setbacks_in(projects: Iterable[int]) -> list[Setback]:
    """Return the newest rejections, withdrawn approvals and suspensions in these projects, also of deleted clients."""
    known = list(projects)
    rows = ReviewEntry.objects.filter(project__in=known, kind__in=SETBACKS)
    found = [
        Setback(
            row.kind,
            row.at,
            row.client.name if row.client else "",
            row.project.name,
            row.client_id,
        )
        for row in rows.select_related("client", "project").order_by("-pk")[:MAX_SETBACKS]
    ]
    return _newest_setbacks([*found, *_setbacks_of_deleted_clients(known)])


def _newest_setbacks(found: Sequence[Setback]) -> list[Setback]:
    return sorted(found, key=lambda setback: setback.at, reverse=True)[:MAX_SETBACKS]


# The entries of a client's reviews are deleted with it, and those of a project some time after the project. Without the
# audit trail, developers would hide what happened by deleting them and creating others.


def _setbacks_of_deleted_clients(projects: Sequence[int]) -> list[Setback]:
    """Return the newest rejections and withdrawn approvals of deleted clients of these projects."""
    named = Project.objects.filter(pk__in=projects, public_id=OuterRef("project")).values("name")
    return _audited_setbacks(
        AuditEvent.objects.filter(
            ~Q(target=""),
            ~Exists(Client.objects.filter(client_id=OuterRef("target"))),
            project__in=Project.objects.filter(pk__in=projects).values("public_id"),
        ),
        named,
    )


def _setbacks_of_removed_projects(accounts: Sequence[int]) -> list[Setback]:
    """Return the newest setbacks in permanently deleted projects of these people: owners, and people who submitted."""
    took_part = Q(actor__in=accounts, action__in=_OF_OWNERS_AND_SUBMITTERS)
    took_part |= Q(person__in=accounts, action__in=_OF_NEW_OWNERS, after__role=ProjectMember.Role.OWNER)
    removed = AuditEvent.objects.filter(project=OuterRef("project"), action="project.removed")
    return _audited_setbacks(
        AuditEvent.objects.filter(
            ~Exists(Project.objects.filter(public_id=OuterRef("project"))),
            project__in=AuditEvent.objects.filter(took_part).values("project"),
        ),
        removed.annotate(name=KT("before__name")).values("name"),
    )


def _audited_setbacks(rows: "QuerySet[AuditEvent]", project_names: "QuerySet[Any]") -> list[Setback]:
    kinds = {action_of(kind): kind for kind in SETBACKS}
    events: Any = rows.filter(action__in=kinds).annotate(project_name=Subquery(project_names[:1]))
    return [
        Setback(
            kinds[row.action],
            row.at,
            row.target and (row.details.get("name") or row.target),
            row.project_name or "",
            None,
        )
        for row in events.order_by("-pk")[:MAX_SETBACKS]
    ]


def _has_setbacks() -> "ExpressionWrapper[Q]":
    """Return whether a project has a setback, also of a deleted client."""
    entries = ReviewEntry.objects.filter(project=OuterRef("pk"), kind__in=SETBACKS)
    audited = AuditEvent.objects.filter(
        project=OuterRef("public_id"), action__in=[action_of(kind) for kind in SETBACKS]
    )
    return ExpressionWrapper(Exists(entries) | Exists(audited), BooleanField())


def gather_other_apps(client: Client, behind: Sequence[Behind]) -> OtherApps:
    """Return the project's other apps, and those of other projects that these people own or owned or submitted to.

    Suspended projects come first, then those with other setbacks, so that many others can't hide them.
    """
    accounts = [one.account.pk for one in behind]
    held = Q(role=ProjectMember.Role.OWNER) | Q(owner_until__isnull=False)
    owned = ProjectMember.objects.filter(held, account__in=accounts).values("project")
    formerly = FormerMember.objects.filter(account__in=accounts, owner_until__isnull=False).values("project")
    submitted = AppReview.objects.filter(submitted_by__in=accounts).values("client__project")
    sent = ReviewRevision.objects.filter(sent_by__in=accounts).values("review__client__project")
    rows = Project.objects.filter(pk__in=owned.union(formerly, submitted, sent))
    first = (F("suspended_at").desc(nulls_last=True), _has_setbacks().desc())
    elsewhere = rows.exclude(pk=client.project_id).order_by(*first, "-pk")
    pairs = elsewhere.values_list("pk", "name", "suspended_at")[:MAX_PROJECTS]
    projects = {pk: (name, suspended) for pk, name, suspended in pairs}
    apps = Client.objects.filter(project__in=[client.project_id, *projects]).exclude(pk=client.pk)
    found = list(apps.select_related("project").order_by("-pk")[: MAX_APPS + 1])
    return OtherApps(
        apps=found[:MAX_APPS],
        is_more=len(found) > MAX_APPS,
        suspended=[name for name, suspended in projects.values() if suspended is not None],
        setbacks=_newest_setbacks([*setbacks_in(projects), *_setbacks_of_removed_projects(accounts)]),
    )


def gather_cases(client: Client) -> tuple[list[KnownCase], Counter[str]]:
    """Return the newest cases about the app or its project, and the number of reports by reason in the last year."""
    about = ReviewCase.objects.filter(project=client.project_id).filter(Q(client=client) | Q(client=None))
    cases = [
        KnownCase(
            row.kind,
            row.opened_at,
            row.is_open,
            row.outcome == ReviewCase.Outcome.ACTED,
        )
        for row in about.order_by("-pk")[:MAX_CASES]
    ]
    since = clock.now() - timedelta(days=REPORT_DAYS)
    reasons = AppReport.objects.filter(case__client=client, at__gt=since).order_by("-pk")
    return cases, Counter(reasons.values_list("reason", flat=True)[:MAX_REPORTS])


def reports_of_deleted_clients(project: Project) -> list[datetime]:
    """Return when cases about reports of deleted clients of a project were opened in the last year, newest first.

    The reports and the case are deleted with the client, and the audit trail keeps that there was one.
    """
    opened = AuditEvent.objects.filter(
        ~Q(target=""),
        ~Exists(Client.objects.filter(client_id=OuterRef("target"))),
        project=project.public_id,
        action="review_case.opened",
        details__kind=ReviewCase.Kind.REPORT,
        at__gt=clock.now() - timedelta(days=REPORT_DAYS),
    )
    return list(opened.order_by("-pk").values_list("at", flat=True)[:MAX_CASES])
