"""Who stands behind an app, what happened to their apps before, and what people reported: a bounded look at each."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta

from django.db.models import Q

from devportal.console.models import AppReport, AppReview, ReviewCase, ReviewEntry
from devportal.console.reviews.evidence.gathered import CaseSeen, OtherApps, Person, Setback
from devportal.lib import clock
from oidc.models import Client, Project, ProjectMember

Kind = ReviewEntry.Kind
SETBACKS = (Kind.REJECTED, Kind.APPROVAL_WITHDRAWN, Kind.SUSPENDED)
MAX_OWNERS = 20
MAX_PROJECTS = 100  # other projects of these owners
MAX_APPS = 200
MAX_SETBACKS = 50
MAX_CASES = 50
MAX_REPORTS = 500
REPORT_DAYS = 365  # reports that are older say nothing of what is sent now


def gather_people(review: AppReview, owners: Iterable[ProjectMember]) -> list[Person]:
    """Return who sent the submission, and who owns the project."""
    sender = review.submitted_by
    found = [Person(sender.email, sender.created_at, "submitted it")] if sender else []
    if sender is None and review.revision:
        found = [Person("", None, "submitted it")]
    own = [row.account for row in owners if sender is None or row.account_id != sender.pk]
    return [*found, *(Person(account.email, account.created_at, "owner") for account in own)]


def owners_of(project: Project) -> list[ProjectMember]:
    """Return the project's owners, with their accounts."""
    rows = ProjectMember.objects.filter(project=project, role=ProjectMember.Role.OWNER)
    return list(rows.select_related("account").order_by("pk")[:MAX_OWNERS])


def setbacks_in(projects: Iterable[int]) -> list[Setback]:
    """Return the newest rejections, withdrawn approvals and suspensions in these projects."""
    rows = ReviewEntry.objects.filter(project__in=list(projects), kind__in=SETBACKS)
    return [
        Setback(
            row.kind,
            row.at,
            row.client.name if row.client else "",
            row.project.name,
            row.client_id,
        )
        for row in rows.select_related("client", "project").order_by("-pk")[:MAX_SETBACKS]
    ]


def gather_other_apps(client: Client, owners: Sequence[ProjectMember]) -> OtherApps:
    """Return the project's other apps, and those of the other projects that its owners own."""
    accounts = [row.account_id for row in owners]
    memberships = ProjectMember.objects.filter(account__in=accounts, role=ProjectMember.Role.OWNER)
    elsewhere = memberships.exclude(project=client.project_id).order_by("-pk")
    pairs = elsewhere.values_list("project", "project__name", "project__suspended_at")[:MAX_PROJECTS]
    projects = {pk: (name, suspended) for pk, name, suspended in pairs}
    rows = Client.objects.filter(project__in=[client.project_id, *projects]).exclude(pk=client.pk)
    apps = list(rows.select_related("project").order_by("-pk")[: MAX_APPS + 1])
    return OtherApps(
        apps=apps[:MAX_APPS],
        is_more=len(apps) > MAX_APPS,
        suspended=[name for name, suspended in projects.values() if suspended is not None],
        setbacks=setbacks_in(projects),
    )


def gather_cases(client: Client) -> tuple[list[CaseSeen], Counter[str]]:
    """Return the newest cases about the app or its project, and how many people reported what in the last year."""
    about = ReviewCase.objects.filter(project=client.project_id).filter(Q(client=client) | Q(client=None))
    cases = [
        CaseSeen(
            row.kind,
            row.get_kind_display(),
            row.opened_at,
            row.is_open,
            row.outcome == ReviewCase.Outcome.ACTED,
        )
        for row in about.order_by("-pk")[:MAX_CASES]
    ]
    since = clock.now() - timedelta(days=REPORT_DAYS)
    reasons = AppReport.objects.filter(case__client=client, at__gt=since).order_by("-pk")
    counted = Counter(reasons.values_list("reason", flat=True)[:MAX_REPORTS])
    labels = dict(AppReport.Reason.choices)
    return cases, Counter({str(labels.get(reason, reason)): count for reason, count in counted.items()})
