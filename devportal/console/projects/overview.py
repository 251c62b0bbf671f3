"""Project cards and the checklist of a new project: figures of the last 24 hours, verification and warnings."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, IntegerField, Min, OuterRef, Q, Subquery, Sum, Value
from django.db.models.functions import Coalesce
from django.urls import reverse

from accounts.models import Account
from api.models import ApiKey, UsageTotal
from core import clock
from devportal.console.access import Membership
from devportal.console.logs.links import request_log
from devportal.console.people import LimitUsage, near_limit
from devportal.console.rotation import RECENTLY
from oidc.models import Client, ClientSecret, Connection, Project, ProjectMember
from oidc.projects.lifecycle import restorable_until

ENDING_SOON = timedelta(days=14)
# 24 hours are the current hour and the 23 before it, because counts by hour are fast to read.
DAY = timedelta(hours=23)
RECENT = timedelta(hours=1)
# Errors are rising if enough calls failed recently, at twice the error rate of the day before.
ENOUGH_CALLS, ENOUGH_SHARE, TIMES_AS_MANY = 20, 0.05, 2
# Statuses of an app's reviews (`Client.reviews`), which belong to the package above this one.
WITH_REVIEWERS, CHANGES_REQUESTED = ("submitted", "in_review"), "changes_requested"


@dataclass(frozen=True)
class CallStatistics:
    """Calls and errors of the last 24 hours (including the current one), and of the last one to two hours."""

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
        if self.recent < ENOUGH_CALLS:
            return False
        share, calls_before = self.recent_errors / self.recent, self.count - self.recent
        before = (self.errors - self.recent_errors) / calls_before if calls_before else 0.0
        return share >= ENOUGH_SHARE and share >= TIMES_AS_MANY * before


@dataclass(frozen=True)
class ProjectCounts:
    """Counts of one project."""

    clients: int = 0
    verified: int = 0
    in_review: int = 0
    changes_requested: int = 0
    without_secret: int = 0
    members: int = 0
    people: int = 0
    keys: int = 0
    keys_ending: int = 0
    first_key_ends_at: datetime | None = None
    ever_signed_in: bool = False
    first_call_at: datetime | None = None
    secrets_ending: int = 0  # secrets that expire soon and were used in the last day


@dataclass(frozen=True)
class ProjectWarning:
    """A warning: its text, and the URL of the page where it is fixed."""

    text: str
    page: str
    client_id: str = ""
    url: str = ""  # instead of `page`, for a page with filters


@dataclass(frozen=True)
class ProjectOverview:
    """One project's card."""

    project: Project
    role: str
    facts: ProjectCounts
    calls: CallStatistics
    people_limit: LimitUsage | None = None  # of its unreviewed apps, if they are near the limit

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
        if facts.clients and facts.verified == facts.clients:
            return "Verified"
        if facts.verified:
            return f"{facts.verified} of {facts.clients} verified"
        return "In review" if facts.in_review else "Not reviewed"

    @property
    def errors_url(self) -> str:
        """The URL of the errors of the last 24 hours in the request log, or "" if there are none."""
        return self._errors_since(DAY) if self.calls.errors else ""

    def _errors_since(self, before: timedelta) -> str:
        hour = _this_hour()
        return request_log(self.project).url(hour - before, hour + timedelta(hours=1), status="errors")

    @property
    def warnings(self) -> list[ProjectWarning]:
        """Warnings, most urgent first."""
        found = [_full(self.people_limit)] if self.people_limit else []
        if self.calls.errors_are_rising:
            share = 100 * self.calls.recent_errors // self.calls.recent
            text = f"Errors are rising: {share} % of the latest calls failed."
            found.append(ProjectWarning(text, "requests", url=self._errors_since(RECENT)))
        facts = self.facts
        if facts.without_secret:
            subject = "A web client has" if facts.without_secret == 1 else f"{facts.without_secret} web clients have"
            found.append(ProjectWarning(f"{subject} no secret: nobody can sign in there.", "clients"))
        if facts.secrets_ending:
            subject = "A client secret" if facts.secrets_ending == 1 else f"{facts.secrets_ending} client secrets"
            verbs = "expires soon and is" if facts.secrets_ending == 1 else "expire soon and are"
            found.append(ProjectWarning(f"{subject} {verbs} still in use.", "clients"))
        if facts.keys_ending and facts.first_key_ends_at:
            day = f"{facts.first_key_ends_at:%-d %B}"
            if facts.keys_ending == 1:
                text = f"An API key expires on {day} (UTC)."
            else:
                text = f"{facts.keys_ending} API keys expire soon, the first on {day} (UTC)."
            found.append(ProjectWarning(text, "keys"))
        if facts.changes_requested:
            found.append(ProjectWarning("A reviewer requested changes.", "clients"))
        return found


def _full(usage: LimitUsage) -> ProjectWarning:
    limit = "one person" if usage.limit == 1 else f"{usage.limit} people"
    if usage.is_full:
        text = f"The project is full: its apps have the {limit} that they may have before review. Nobody new can join."
    else:
        text = f"The project’s apps have {usage.people} of the {limit} that they may have before review."
    return ProjectWarning(text, "people")


# --- Queries ---


def project_memberships(account: Account) -> "Any":
    """Return a person's memberships. Deleted projects are included only for owners, who may restore them."""
    seen = Q(project__deleted_at=None) | Q(role=ProjectMember.Role.OWNER)
    return ProjectMember.objects.filter(seen, account=account).select_related("project")


def project_overviews(seats: Sequence[ProjectMember]) -> list[ProjectOverview]:
    """Return the cards of these memberships' projects, in three SQL statements."""
    live = [membership.project_id for membership in seats if not membership.project.is_deleted]
    facts, calls = _facts(live), _calls(live)
    limits = {usage.project.pk: usage for usage in near_limit(live)}
    return [
        ProjectOverview(
            project=membership.project,
            role=membership.role,
            facts=facts.get(membership.project_id, ProjectCounts()),
            calls=calls.get(membership.project_id, CallStatistics()),
            people_limit=limits.get(membership.project_id),
        )
        for membership in seats
    ]


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
        n_verified=_number_of(clients.exclude(verified_at=None).filter(home_unproven_since=None)),
        n_without_secret=_number_of(clients.filter(~Exists(live_secret), type=Client.Type.WEB, enabled=True)),
        n_in_review=_number_of(clients.filter(reviews__status__in=WITH_REVIEWERS)),
        n_changes=_number_of(clients.filter(reviews__status=CHANGES_REQUESTED)),
        n_members=_number_of(ProjectMember.objects.filter(project=this)),
        # Each person counts once, however many of the project's apps they use.
        n_people=_number_of(Connection.objects.filter(client__project=this, removed_at=None), "account"),
        n_keys=_number_of(keys),
        n_ending=_number_of(ending),
        first_end=Subquery(first),
        signed_in=Exists(Connection.objects.filter(client__project=this)),
        # Ordered, so that the database reads the index instead of the table.
        first_call=Subquery(UsageTotal.objects.filter(project=this).order_by("hour").values("hour")[:1]),
        n_secrets_ending=_number_of(ending_secrets),
    )
    names = (
        "pk n_clients n_verified n_in_review n_changes n_without_secret n_members n_people n_keys n_ending first_end"
        " signed_in first_call n_secrets_ending"
    )
    return {pk: ProjectCounts(*values) for pk, *values in rows.order_by().values_list(*names.split())}


def _this_hour() -> datetime:
    return clock.now().replace(minute=0, second=0, microsecond=0)


def _calls(projects: Sequence[int]) -> dict[int, CallStatistics]:
    hour = _this_hour()
    failed, recent = Q(status__gte=400), Q(hour__gte=hour - RECENT)
    rows = UsageTotal.objects.filter(project__in=projects, hour__gte=hour - DAY).values_list("project")
    sums = rows.annotate(
        calls=Sum("count"),
        errors=Sum("count", filter=failed, default=0),
        recent=Sum("count", filter=recent, default=0),
        recent_errors=Sum("count", filter=failed & recent, default=0),
    )
    return {project: CallStatistics(*values) for project, *values in sums.order_by()}


@dataclass(frozen=True)
class OnboardingStep:
    """One step: its text, whether it is done, and the URL where it is done ("" if not possible yet)."""

    title: str
    text: str
    is_done: bool
    url: str = ""


def onboarding_steps(membership: Membership, facts: ProjectCounts, client: Client | None) -> list[OnboardingStep]:
    """Return the steps of a project in order. `client` is its newest client."""

    def at(page: str) -> str:
        """Return the URL of a page of the client, or "" without a client."""
        return reverse(f"console:{page}", args=[membership.project.public_id, client.client_id]) if client else ""

    return [
        OnboardingStep(
            "Create a client",
            "Your app: a website, a browser app, or an app for phones and computers.",
            facts.clients > 0,
            reverse("console:client_new", args=[membership.project.public_id]) if membership.may_edit else "",
        ),
        OnboardingStep(
            "Sign the first person in",
            "The quick start of the client has code that you can run.",
            facts.ever_signed_in,
            at("quick_start"),
        ),
        OnboardingStep(
            "Call the API",
            "Use that person's access token, or one of your API keys.",
            facts.first_call_at is not None,
            reverse("console:keys", args=[membership.project.public_id]),
        ),
        OnboardingStep(
            "Submit it for review",
            "After review there is no limit of people, and your logo is shown when people sign in.",
            facts.verified > 0,
            at("review"),
        ),
    ]


def is_complete(steps: list[OnboardingStep]) -> bool:
    """Return whether all steps are done."""
    return all(step.is_done for step in steps)
