"""Project cards: figures of the last 24 hours, the state of review, and warnings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, IntegerField, Min, OuterRef, Q, Subquery, Sum, Value
from django.db.models.functions import Coalesce
from django.utils.timesince import timeuntil

from accounts.models import Account
from api.models import ApiKey, UsageTotal
from core import clock
from devportal.console.fixes import project_page
from devportal.console.logs.links import request_log
from devportal.console.people import LimitUsage, near_limit
from devportal.console.rotation import RECENTLY
from oidc.models import Client, ClientSecret, Connection, Project, ProjectDomain, ProjectMember
from oidc.projects.lifecycle import restorable_until

ENDING_SOON = timedelta(days=14)
# 24 hours are the current hour and the 23 before it, because counts by hour are fast to read.
DAY = timedelta(hours=23)
RECENT = timedelta(hours=1)
# Errors are rising if enough requests failed recently, at twice the error rate of the day before.
ENOUGH_REQUESTS, ENOUGH_SHARE, TIMES_AS_MANY = 20, 0.05, 2
# Statuses of an app's reviews (`Client.reviews`), which belong to the package above this one.
WITH_REVIEWERS, CHANGES_REQUESTED = ("submitted", "in_review"), "changes_requested"


@dataclass(frozen=True)
class RequestCounts:
    """Requests and errors of the last 24 hours (including the current one), and of the last one to two hours."""

    count: int = 0
    errors: int = 0
    recent: int = 0
    recent_errors: int = 0

    @property
    def error_percent(self) -> float:
        return 100 * self.errors / self.count if self.count else 0.0

    @property
    def errors_are_rising(self) -> bool:
        """Whether the error rate of the last one to two hours is clearly above that of the day before."""
        if self.recent < ENOUGH_REQUESTS:
            return False
        share, requests_before = self.recent_errors / self.recent, self.count - self.recent
        before = (self.errors - self.recent_errors) / requests_before if requests_before else 0.0
        return share >= ENOUGH_SHARE and share >= TIMES_AS_MANY * before


@dataclass(frozen=True)
class ProjectCounts:
    """Counts of one project."""

    clients: int = 0
    reviewed: int = 0
    in_review: int = 0
    changes_requested: int = 0
    without_secret: int = 0
    people: int = 0
    keys_ending: int = 0
    first_key_ends_at: datetime | None = None
    ever_signed_in: bool = False
    first_request_at: datetime | None = None
    secrets_ending: int = 0  # secrets that expire soon and were used in the last day
    domains_missing: int = 0  # domains whose proof is no longer found


@dataclass(frozen=True)
class ProjectWarning:
    """A warning: its text, and the URL of the page where it is fixed."""

    text: str
    url: str


@dataclass(frozen=True)
class ProjectOverview:
    """One project's card."""

    project: Project
    role: str
    facts: ProjectCounts
    requests: RequestCounts
    people_limit: LimitUsage | None = None  # of its apps that are not reviewed, if they are near the limit

    @property
    def restorable_until(self) -> datetime | None:
        return restorable_until(self.project)

    @property
    def is_restorable(self) -> bool:
        until = self.restorable_until
        return until is not None and until > clock.now()

    @property
    def review_state(self) -> str:
        """The state of review, in a word or two."""
        facts = self.facts
        if facts.clients and facts.reviewed == facts.clients:
            return "Reviewed"
        if facts.reviewed:
            return f"{facts.reviewed} of {facts.clients} reviewed"
        return "In review" if facts.in_review else "Not reviewed"

    @property
    def errors_url(self) -> str:
        """The URL of the errors of the last 24 hours in the request log, or "" if there are none."""
        return self._errors_since(DAY) if self.requests.errors else ""

    def _errors_since(self, before: timedelta) -> str:
        hour = _this_hour()
        return request_log(self.project).url(hour - before, hour + timedelta(hours=1), status="errors")

    @property
    def warnings(self) -> list[ProjectWarning]:
        """Warnings, most urgent first."""
        facts, requests = self.facts, self.requests
        found = [self._full(self.people_limit)] if self.people_limit else []
        if requests.errors_are_rising:
            share = 100 * requests.recent_errors // requests.recent
            text = f"Errors are rising: {share} % of the latest requests failed."
            found.append(ProjectWarning(text, self._errors_since(RECENT)))
        if facts.without_secret:
            one = "A web app has no secret: nobody can sign in there."
            more = "{} web apps have no secret: nobody can sign in there."
            found.append(self._counted(facts.without_secret, one, more, "clients"))
        if facts.secrets_ending:
            one = "A client secret expires soon and is still in use."
            more = "{} client secrets expire soon and are still in use."
            found.append(self._counted(facts.secrets_ending, one, more, "clients"))
        if facts.keys_ending and facts.first_key_ends_at:
            left = timeuntil(facts.first_key_ends_at, clock.now())
            one, more = f"An API key expires in {left}.", f"{{}} API keys expire soon, the first in {left}."
            found.append(self._counted(facts.keys_ending, one, more, "keys"))
        if facts.domains_missing:
            one, more = "The proof of a domain was not found.", "The proofs of {} domains were not found."
            found.append(self._counted(facts.domains_missing, one, more, "domains"))
        if facts.changes_requested:
            found.append(self._warning("A reviewer requested changes.", "clients"))
        return found

    def _warning(self, text: str, page: str) -> ProjectWarning:
        return ProjectWarning(text, project_page(self.project, page))

    def _counted(self, count: int, one: str, more: str, page: str) -> ProjectWarning:
        return self._warning(one if count == 1 else more.format(f"{count:,}"), page)

    def _full(self, usage: LimitUsage) -> ProjectWarning:
        limit = "one person" if usage.limit == 1 else f"{usage.limit} people"
        text = f"The project’s apps have {usage.people} of the {limit} that they may have before review."
        if usage.is_full:
            text = (
                f"The project is full: its apps have the {limit} that they may have before review. Nobody new can join."
            )
        return self._warning(text, "people")


# --- Queries ---


def project_memberships(account: Account) -> "Any":
    """Return a person's memberships. Deleted projects are included only for owners, who may restore them."""
    seen = Q(project__deleted_at=None) | Q(role=ProjectMember.Role.OWNER)
    return ProjectMember.objects.filter(seen, account=account).select_related("project")


def project_overviews(seats: Sequence[ProjectMember]) -> list[ProjectOverview]:
    """Return the cards of these memberships' projects, in three SQL statements."""
    live = [membership.project_id for membership in seats if not membership.project.is_deleted]
    return _overviews(seats, live, {usage.project.pk: usage for usage in near_limit(live)})


def project_overview(seat: ProjectMember, limit: LimitUsage | None) -> ProjectOverview:
    """Return the overview of one project, in two SQL statements. `limit` is that of its apps that are not reviewed."""
    limits = {limit.project.pk: limit} if limit and limit.is_near else {}
    return _overviews([seat], [seat.project_id], limits)[0]


def _overviews(
    seats: Sequence[ProjectMember], live: Sequence[int], limits: Mapping[int, LimitUsage]
) -> list[ProjectOverview]:
    facts, requests = _facts(live), _requests(live)
    return [
        ProjectOverview(
            project=membership.project,
            role=membership.role,
            facts=facts.get(membership.project_id, ProjectCounts()),
            requests=requests.get(membership.project_id, RequestCounts()),
            people_limit=limits.get(membership.project_id),
        )
        for membership in seats
    ]


def with_reviewers() -> Exists:
    """Return the condition that an app is submitted for review and has no decision yet."""
    return Exists(Client.objects.filter(pk=OuterRef("pk"), reviews__status__in=WITH_REVIEWERS))


def _number_of(rows: Any, what: str = "pk") -> Any:
    """Return a subquery that counts distinct values of `what` in `rows`, which refer to the outer project."""
    number = Count(what, distinct=what != "pk")
    counted = rows.order_by().annotate(group=Value(1)).values("group").annotate(number=number).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def _facts(projects: Sequence[int]) -> dict[int, ProjectCounts]:
    now, this = clock.now(), OuterRef("pk")
    clients = Client.objects.filter(project=this)
    live_secret = ClientSecret.objects.live().filter(client=OuterRef("pk"))
    ending_secrets = ClientSecret.objects.live().filter(
        client__project=this, expires_at__gt=now, last_used_at__gt=now - RECENTLY
    )
    keys = ApiKey.objects.live().filter(project=this)
    ending = keys.filter(expires_at__lte=now + ENDING_SOON)
    first = ending.order_by().values("project").annotate(first=Min("expires_at")).values("first")
    rows = Project.objects.filter(pk__in=projects).annotate(
        n_clients=_number_of(clients),
        n_reviewed=_number_of(clients.exclude(verified_at=None).filter(home_unproven_since=None)),
        n_without_secret=_number_of(clients.filter(~Exists(live_secret), type=Client.Type.WEB, enabled=True)),
        n_in_review=_number_of(clients.filter(reviews__status__in=WITH_REVIEWERS)),
        n_changes=_number_of(clients.filter(reviews__status=CHANGES_REQUESTED)),
        # Each person counts once, however many of the project's apps they use.
        n_people=_number_of(Connection.objects.filter(client__project=this, removed_at=None), "account"),
        n_ending=_number_of(ending),
        first_end=Subquery(first),
        signed_in=Exists(Connection.objects.filter(client__project=this)),
        # Ordered, so that the database reads the index instead of the table.
        first_request=Subquery(UsageTotal.objects.filter(project=this).order_by("hour").values("hour")[:1]),
        n_secrets_ending=_number_of(ending_secrets),
        n_missing=_number_of(ProjectDomain.objects.filter(project=this).exclude(missing_since=None)),
    )
    names = (
        "pk n_clients n_reviewed n_in_review n_changes n_without_secret n_people n_ending first_end signed_in"
        " first_request n_secrets_ending n_missing"
    )
    return {pk: ProjectCounts(*values) for pk, *values in rows.order_by().values_list(*names.split())}


def _this_hour() -> datetime:
    return clock.now().replace(minute=0, second=0, microsecond=0)


def _requests(projects: Sequence[int]) -> dict[int, RequestCounts]:
    hour = _this_hour()
    failed, recent = Q(status__gte=400), Q(hour__gte=hour - RECENT)
    rows = UsageTotal.objects.filter(project__in=projects, hour__gte=hour - DAY).values_list("project")
    sums = rows.annotate(
        total=Sum("count"),
        errors=Sum("count", filter=failed, default=0),
        recent=Sum("count", filter=recent, default=0),
        recent_errors=Sum("count", filter=failed & recent, default=0),
    )
    return {project: RequestCounts(*values) for project, *values in sums.order_by()}
