"""Figures of the service's state, one bounded and indexed statement each; for metrics and the operator's overview."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import Count, Exists, Max, Min, OuterRef, Q

from accounts.models import Outbox
from api.models import RequestLog
from devportal.console.models import AppReview, ReviewCase, SignInEvent
from devportal.lib import clock
from oidc.models import Client, Project, SigningKey, TakenPlace
from oidc.projects.people import annotate_people_counted, counted_connections

# So many rows of a log are counted at most: the newest.
MOST_COUNTED = 50_000
# So many waiting mails, and projects near their limit of people.
MOST_WAITING = 10_000
MOST_PROJECTS = 5
MOST_COUNTED_PROJECTS = 100
# A project is near its limit of people from this share of it.
NEAR_LIMIT = 0.8


class Waiting(NamedTuple):
    """How many wait, and since when the oldest does."""

    number: int
    oldest: datetime | None


class SigningKeys(NamedTuple):
    """Since when the active key signs, and the next one is published."""

    active_since: datetime | None
    next_since: datetime | None

    @property
    def expires_at(self) -> datetime | None:
        """When the active key should stop signing."""
        return self.active_since and self.active_since + timedelta(seconds=settings.SIGNING_KEY_LIFETIME_SECONDS)


def waiting_mail() -> Waiting:
    """Return the mails that wait in the outbox; beyond MOST_WAITING they are not counted."""
    rows = Outbox.objects.waiting().order_by("not_before")[:MOST_WAITING]
    found = rows.aggregate(number=Count("pk"), oldest=Min("created_at"))
    return Waiting(found["number"], found["oldest"])


def given_up_mail() -> int:
    """Return how many mails that were given up are kept."""
    return Outbox.objects.filter(given_up_at__isnull=False)[:MOST_WAITING].count()


def signing_keys() -> SigningKeys:
    """Return the state of the signing keys."""
    active, following = Q(state=SigningKey.State.ACTIVE), Q(state=SigningKey.State.NEXT)
    found = SigningKey.objects.aggregate(
        active=Max("activated_at", filter=active), following=Max("created_at", filter=following)
    )
    return SigningKeys(found["active"], found["following"])


def waiting_reviews() -> Waiting:
    """Return the reviews that wait for a reviewer."""
    found = AppReview.objects.waiting().order_by().aggregate(number=Count("pk"), oldest=Min("submitted_at"))
    return Waiting(found["number"], found["oldest"])


def open_cases() -> tuple[int, int, datetime | None]:
    """Return how many cases are open, how many of them are late, and when the oldest was opened."""
    rows = ReviewCase.objects.filter(closed_at=None, project__deleted_at=None).order_by()
    late = Q(opened_at__lt=clock.now() - timedelta(days=settings.CASE_TARGET_DAYS)) & ~Q(kind=ReviewCase.Kind.RE_REVIEW)
    found = rows.aggregate(number=Count("pk"), late=Count("pk", filter=late), oldest=Min("opened_at"))
    return found["number"], found["late"], found["oldest"]


def sign_ins(hours: int = 24) -> dict[str, int]:
    """Return the steps of sign-ins to apps by outcome, and of the period before: `signed_in`, `signed_in_before`."""
    now = clock.now()
    turn, begin = now - timedelta(hours=hours), now - timedelta(hours=2 * hours)
    rows = SignInEvent.objects.filter(at__gte=begin).order_by("-at")[:MOST_COUNTED]
    counts: dict[str, Any] = {"all_rows": Count("pk")}
    for outcome in SignInEvent.Outcome.values:
        counts[outcome] = Count("pk", filter=Q(outcome=outcome, at__gte=turn))
        counts[f"{outcome}_before"] = Count("pk", filter=Q(outcome=outcome, at__lt=turn))
    return dict(rows.aggregate(**counts))


def api_calls(hours: int = 24) -> dict[str, int]:
    """Return the calls of the developer API in these hours: `all_rows`, `refused` (4xx) and `failed` (5xx)."""
    rows = RequestLog.objects.filter(at__gte=clock.now() - timedelta(hours=hours)).order_by("-at")[:MOST_COUNTED]
    refused, failed = Q(status__gte=400, status__lt=500), Q(status__gte=500)
    return dict(
        rows.aggregate(all_rows=Count("pk"), refused=Count("pk", filter=refused), failed=Count("pk", filter=failed))
    )


def projects_near_limit() -> list[Project]:
    """Return some projects whose unreviewed apps have nearly as many people as they may have (docs/review.md#people).

    Exact counts are read only of projects with about so many connections, and of no more than MOST_COUNTED_PROJECTS.
    """
    near = max(int(settings.UNVERIFIED_APP_PEOPLE * NEAR_LIMIT), 1)
    clients = Client.objects.filter(verified_at=None, first_party=False, enabled=True, project=OuterRef("pk"))
    people = counted_connections(OuterRef("pk")).order_by()
    places = TakenPlace.objects.filter(project=OuterRef("pk")).order_by()
    # People are among the connections and the places: where there are enough, one of the two has at least half.
    many = Exists(people[(near - 1) // 2 :][:1]) | Exists(places[(near - 1) // 2 :][:1])
    rows = Project.objects.filter(Exists(clients), many, deleted_at=None).order_by().values_list("pk", flat=True)
    counted = annotate_people_counted(Project.objects.filter(pk__in=list(rows[:MOST_COUNTED_PROJECTS])))
    return list(counted.filter(people_counted__gte=near).order_by("pk")[:MOST_PROJECTS])


def database_connections() -> tuple[int, int] | None:
    """Return how many connections this database has, and how many its server allows; None on SQLite."""
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), current_setting('max_connections')::int "
            "FROM pg_stat_activity WHERE datname = current_database()"
        )
        used, most = cursor.fetchone() or (0, 0)
    return used, most
