"""Numbers of people per app, and the cap of unverified apps; no personal data."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count
from django.db.models.functions import TruncDay

from devportal.console.charts.bars import BarChart, Series
from devportal.lib import clock
from oidc.authorization.user_cap import annotate_people
from oidc.models import Client, Connection, Project

TREND_DAYS = 30
# From this share of the cap on, developers are warned.
WARNING_SHARE = 0.8


@dataclass(frozen=True)
class CapUsage:
    """How far an app is from its cap; `cap` is None for one that has none."""

    client: Client
    people: int
    people_now: int
    cap: int | None

    @property
    def share(self) -> int:
        """The share of the cap that is used, in percent."""
        return min(100, self.people * 100 // self.cap) if self.cap else 0

    @property
    def is_full(self) -> bool:
        return self.cap is not None and self.people >= self.cap

    @property
    def is_near(self) -> bool:
        return self.cap is not None and self.people >= self.cap * WARNING_SHARE


def cap_usage(client: Client) -> CapUsage:
    """Return the CapUsage of one client of `annotate_people`."""
    has_cap = not (client.is_verified or client.first_party)
    people, now = getattr(client, "people", 0), getattr(client, "people_now", 0)
    return CapUsage(client, people, now, settings.UNVERIFIED_APP_PEOPLE if has_cap else None)


def near_cap(projects: Iterable[int]) -> list[CapUsage]:
    """Return the apps of these projects (primary keys) that are at their cap or near it."""
    capped = Client.objects.filter(project__in=list(projects), verified_at=None, first_party=False)
    near = annotate_people(capped).filter(people__gte=settings.UNVERIFIED_APP_PEOPLE * WARNING_SHARE)
    return [cap_usage(client) for client in near.order_by("-people", "pk")]


def trend_chart(project: Project) -> BarChart:
    """Return a chart of first authorizations per day, over the last 30 days including today."""
    today = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    starts = list(_days(today - timedelta(days=TREND_DAYS - 1)))
    new = Connection.objects.filter(client__project=project, first_authorized_at__gte=starts[0])
    rows = new.annotate(day=TruncDay("first_authorized_at")).values_list("day").annotate(count=Count("pk")).order_by()
    counts = dict(rows)
    band = Series("New authorizations", "plain", [counts.get(day, 0) for day in starts])
    return BarChart("people", "New authorizations a day", starts, timedelta(days=1), [band])


def _days(first: datetime) -> Iterator[datetime]:
    return (first + timedelta(days=number) for number in range(TREND_DAYS))
