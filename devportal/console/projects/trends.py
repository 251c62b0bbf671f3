"""What changed in a project: sign-ins and requests of two weeks, and its apps in the last 24 hours."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from api import usage_counts
from core import clock
from devportal.console.analytics import store
from devportal.console.charts import BarChart, Series, format_change
from devportal.console.fixes import project_page
from devportal.console.logs.links import ANY_REFUSAL, LogLink, request_log, sign_in_log
from devportal.console.projects.overview import DAY
from oidc.models import Client, Project
from oidc.sign_in_log.steps import Step

DAYS = 14
_DAY = timedelta(days=1)
_SIGNED_IN, _REFUSED = store.FIGURES["signed_in"], store.FIGURES["refused"]


@dataclass(frozen=True)
class Trend:
    """A number of two weeks: its name, the change from the two weeks before, its errors, and a chart by day.

    `url` is the page with the details, `errors_url` the log entries of the errors, or "" if there are none.
    """

    name: str
    value: int
    change: str
    errors: int
    chart: BarChart
    url: str
    errors_url: str


@dataclass(frozen=True)
class AppRow:
    """An app with its sign-ins and refusals of the last 24 hours, and the URL of the log entries of the refusals."""

    client: Client
    signed_in: int
    refused: int
    refused_url: str


def two_weeks() -> list[datetime]:
    """Return the last 28 days (UTC), in order, of which the second half is shown. Today has not ended."""
    today = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    return [today - place * _DAY for place in reversed(range(2 * DAYS))]


def sign_in_trend(project: Project, clients: Sequence[int]) -> Trend:
    """Return the sign-ins to these clients (primary keys), from their counts by day. Takes one statement."""
    days = two_weeks()
    good, bad = dict.fromkeys(days, 0), dict.fromkeys(days, 0)
    for (day, step, _), count in store.sums("day", clients, days[0], days[-1] + _DAY, (*_SIGNED_IN, *_REFUSED)).items():
        (good if step in _SIGNED_IN else bad)[day] += count
    log, chosen = sign_in_log(project), {"good": Step.EXCHANGED.value, "server-error": ANY_REFUSAL}

    def link(start: datetime, end: datetime, band: Series | None) -> str:
        return log.url(start, end, step=chosen[band.kind]) if band else ""

    bands = [_series("Signed in", "good", good), _series("Refused", "server-error", bad)]
    before = [good[day] + bad[day] for day in days[:DAYS]]
    chart = BarChart("sign-ins", "Sign-ins a day, last 14 days", days[DAYS:], _DAY, bands, link=link, before=before)
    page = project_page(project, "project_analytics") + "?range=30d"
    values = list(good.values())
    change = format_change(values[DAYS:], values[:DAYS])
    errors_url = _all_days(log, days, step=ANY_REFUSAL)
    return Trend("Sign-ins", sum(values[DAYS:]), change, sum(bands[1].values), chart, page, errors_url)


def request_trend(project: Project) -> Trend:
    """Return the requests to the APIs, from their counts. Takes one statement."""
    days = two_weeks()
    good, bad = dict.fromkeys(days, 0), dict.fromkeys(days, 0)
    for row in usage_counts.series(project, days[0], days[-1] + _DAY, "day", "status"):
        (good if row["status"] < 400 else bad)[row["day"]] += row["total_count"]
    log, chosen = request_log(project), {"good": "2xx", "server-error": "errors"}

    def link(start: datetime, end: datetime, band: Series | None) -> str:
        return log.url(start, end, status=chosen[band.kind] if band else "")

    bands = [_series("Without error", "good", good), _series("Errors", "server-error", bad)]
    is_kept = len(days) <= settings.USAGE_DAYS
    before = [good[day] + bad[day] for day in days[:DAYS]] if is_kept else []
    chart = BarChart("requests", "Requests a day, last 14 days", days[DAYS:], _DAY, bands, link=link, before=before)
    page = project_page(project, "usage") + "?range=30d"
    errors_url = _all_days(log, days, status="errors")
    return Trend("Requests", chart.total, chart.change, sum(bands[1].values), chart, page, errors_url)


def _series(name: str, kind: str, counts: dict[datetime, int]) -> Series:
    return Series(name, kind, list(counts.values())[DAYS:])


def _all_days(log: LogLink, days: Sequence[datetime], **filters: str) -> str:
    return log.url(days[DAYS], days[-1] + _DAY, **filters)


def app_rows(project: Project, clients: Sequence[Client]) -> list[AppRow]:
    """Return these clients with their figures of the last 24 hours. Takes one statement."""
    hour = clock.now().replace(minute=0, second=0, microsecond=0)
    since, until = hour - DAY, hour + timedelta(hours=1)
    found = store.busiest("hour", [client.pk for client in clients], since, until, len(clients))
    counts = {row["client_id"]: row for row in found}
    none = dict.fromkeys(store.FIGURES, 0)
    rows = []
    for client in clients:
        row = counts.get(client.pk, none)
        url = sign_in_log(project, client).url(since, until, step=ANY_REFUSAL) if row["refused"] else ""
        rows.append(AppRow(client, row["signed_in"], row["refused"], url))
    return rows
