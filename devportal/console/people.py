"""The number of people who use a project's apps, and the limit of apps without a review."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse

from core import clock
from devportal.console.access import get_membership
from devportal.console.analytics.store import sums
from devportal.console.charts import BarChart, Series
from devportal.console.navigation import console_page, render_page
from devportal.console.pagination import paginate
from oidc.models import Client, Connection, Project, ProjectMember
from oidc.projects.people import annotate_people_counted, people_counted
from oidc.sign_in_log.steps import Step

TREND_DAYS = 30
# Developers are warned from this share of the limit on.
WARNING_SHARE = 0.8


@dataclass(frozen=True)
class LimitUsage:
    """The number of people of a project's apps without a review, and their common limit."""

    project: Project
    people: int
    limit: int

    @property
    def share(self) -> int:
        """The share of the limit that is used, in percent."""
        return min(100, self.people * 100 // self.limit) if self.limit else 100

    @property
    def is_full(self) -> bool:
        return self.people >= self.limit

    @property
    def is_near(self) -> bool:
        return self.people >= self.limit * WARNING_SHARE


@dataclass(frozen=True)
class AppPeople:
    """The numbers of people of one app: ever (without the project's owners), and now."""

    client: Client
    people: int
    people_now: int

    @property
    def has_limit(self) -> bool:
        return not (self.client.is_verified or self.client.first_party)


def app_people(project: Project, clients: Sequence[Client]) -> list[AppPeople]:
    """Return the numbers of people of clients of the project. Deleted accounts are among those who ever authorized it.

    A client may have a million people, so they are counted in one pass, and only the index is read.
    """
    rows = Connection.objects.filter(client__in=clients).order_by().values("client")
    now = Count("client", filter=Q(removed_at=None, account__isnull=False))
    counted = {row["client"]: row for row in rows.annotate(ever=Count("client"), now=now)}
    owners = ProjectMember.objects.filter(project=project, role=ProjectMember.Role.OWNER).values_list("account")
    own = Counter(rows.filter(account__in=[account for (account,) in owners]).values_list("client", flat=True))
    numbers = [(client, counted.get(client.pk, {"ever": 0, "now": 0})) for client in clients]
    return [AppPeople(client, row["ever"] - own[client.pk], row["now"]) for client, row in numbers]


def limit_usage(project: Project) -> LimitUsage | None:
    """Return the people who count towards a project's limit, or None if all apps are reviewed and nobody counts."""
    usage = LimitUsage(project, people_counted(project), settings.UNVERIFIED_APP_PEOPLE)
    return usage if usage.people or _unreviewed(project=project).exists() else None


def near_limit(projects: Iterable[int]) -> list[LimitUsage]:
    """Return those of the projects (primary keys) whose apps without a review are at or near the limit of people."""
    limit = settings.UNVERIFIED_APP_PEOPLE
    rows = Project.objects.filter(Exists(_unreviewed(project=OuterRef("pk"))), pk__in=list(projects))
    near = annotate_people_counted(rows).filter(people_counted__gte=ceil(limit * WARNING_SHARE)).order_by("pk")
    return [LimitUsage(project, project.people_counted, limit) for project in near]


def _unreviewed(**of: Any) -> "QuerySet[Client]":
    rows: QuerySet[Client] = Client.objects.filter(verified_at=None, first_party=False, **of)
    return rows


def trend_chart(clients: Sequence[int]) -> BarChart:
    """Return a chart of the new people of clients (primary keys) per day, over the last 30 days including today."""
    today = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    starts = [today - timedelta(days=ago) for ago in reversed(range(TREND_DAYS))]
    counted = sums("day", clients, starts[0], today + timedelta(days=1), [Step.NEW_PERSON])
    new = Counter[datetime]()
    for (day, _, _), times in counted.items():
        new[day] += times
    band = Series("New authorizations", "good", [new[day] for day in starts])
    return BarChart("people", "New authorizations a day", starts, timedelta(days=1), [band])


@console_page()
def people(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/analytics/people: the project's limit, the numbers of each client, and the trend. Nobody is named."""
    membership = get_membership(request, project_id)
    clients = Client.objects.filter(project=membership.project)
    page = paginate(clients, request)
    context: dict[str, Any] = {
        "apps": app_people(membership.project, page.rows),
        "limit": limit_usage(membership.project),
        "trend": trend_chart(list(clients.values_list("pk", flat=True))),
    }
    return render_page(request, "console/people.html", membership, page=page, **context)
