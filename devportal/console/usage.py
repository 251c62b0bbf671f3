"""The usage page: its query parameters, its report, and the file of its counts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.http import urlencode

from api import usage_counts
from api.endpoint import UNKNOWN_ENDPOINT
from api.models import LATENCY_EDGES_MS, LATENCY_FIELDS, ApiKey, UsageCountsByCaller
from core import clock
from core.database.postgres.replica import page_from_replica
from devportal.console.access import get_membership
from devportal.console.charts import BarChart, LimitLine, Series
from devportal.console.export import Columns, export, requested_format
from devportal.console.filter_bar import Chip, FilterBar, range_bar
from devportal.console.logs.links import LogLink, request_log
from devportal.console.logs.request_log import CODES, NO_ENDPOINT
from devportal.console.navigation import console_page, render_page
from oidc.apis.registry import ApiSnapshot, current_registry
from oidc.models import Client, Project


@dataclass(frozen=True)
class TimeRange:
    """A time range up to now with `bars` bars of length `step`, read from the counts by `unit`.

    Bars begin at full minutes, hours or midnights in UTC. The last one has not ended yet.
    """

    name: str
    label: str
    words: str
    unit: str
    step: timedelta
    bars: int
    whole: timedelta

    def bounds(self, now: datetime) -> tuple[datetime, datetime]:
        """Return start (inclusive) and end (exclusive)."""
        seconds = int(now.timestamp())
        until = datetime.fromtimestamp(seconds - seconds % self._ends_on + self._ends_on, UTC)
        return until - self.whole, until

    @property
    def _ends_on(self) -> int:
        return 86400 if self.whole > timedelta(days=1) else int(self.step.total_seconds())


_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
TIME_RANGES = (
    TimeRange("1h", "1 hour", "hour", "minute", _MINUTE, 60, _HOUR),
    TimeRange("24h", "24 hours", "24 hours", "hour", _HOUR, 24, _DAY),
    TimeRange("7d", "7 days", "7 days", "hour", 3 * _HOUR, 56, 7 * _DAY),
    TimeRange("30d", "30 days", "30 days", "day", _DAY, 30, 30 * _DAY),
)
_BY_NAME = {span.name: span for span in TIME_RANGES}
_LONGEST = {"endpoint": 32, "client": 255, "key": 16}


@dataclass(frozen=True)
class UsageQuery:
    """The time range and the filters by endpoint, client and key ("" for all)."""

    span: TimeRange
    endpoint: str = ""
    client: str = ""
    key: str = ""

    @classmethod
    def of(cls, request: HttpRequest) -> "UsageQuery":
        """Parse the query parameters. Invalid values are ignored."""
        given = {name: request.GET.get(name, "") for name in _LONGEST}
        proper = {name: text for name, text in given.items() if len(text) <= _LONGEST[name] and "\x00" not in text}
        return cls(_BY_NAME.get(request.GET.get("range", ""), _BY_NAME["24h"]), **proper)

    @property
    def filters(self) -> dict[str, str]:
        """The filters as query parameters."""
        return {"endpoint": self.endpoint, "client": self.client, "key": self.key}

    @property
    def only(self) -> dict[str, str]:
        """The filters as columns of the usage tables (api/usage_counts.py)."""
        columns = {"endpoint": self.endpoint, "client": self.client, "credential": self.key}
        return {name: value for name, value in columns.items() if value}

    def bounds(self) -> tuple[datetime, datetime]:
        return self.span.bounds(clock.now())

    def address(self, **changes: str) -> str:
        """Return the query string with changed parameters. "" removes one."""
        parts = {"range": self.span.name} | self.filters | changes
        return f"?{urlencode({name: value for name, value in parts.items() if value})}"


MAX_ROWS = 25
# The limit is drawn only if the bars are near it. Otherwise they would be too small to see.
_NEAR = 4
# Label and style of each status class, from the bottom of a bar to its top.
STATUS_CLASSES = (("2xx and 3xx", "good"), ("4xx", "client-error"), ("429", "limited"), ("5xx", "server-error"))


def status_class(status: int) -> int:
    """Return the index of a status in STATUS_CLASSES."""
    if status == 429:
        return 2
    return 0 if status < 400 else 1 if status < 500 else 3


@dataclass(frozen=True)
class UsageRow:
    """One row of a table: label, calls, errors and latencies."""

    name: str
    calls: int
    errors: int
    latencies: Sequence[int]
    # Query string of the filter, client id of its page, and a note beside its name.
    narrow: str = ""
    page: str = ""
    note: str = ""
    is_api: bool = False  # the name is that of an API, and no path
    # URL of the errors in the request log, or "" if the log does not hold them.
    log: str = ""

    @property
    def share(self) -> str:
        """The error rate, in percent."""
        return format_percent(self.errors, self.calls)

    @property
    def p50(self) -> str:
        return format_quantile(self.latencies, 50)

    @property
    def p95(self) -> str:
        return format_quantile(self.latencies, 95)


@dataclass(frozen=True)
class UsageReport:
    """The data of the usage page."""

    query: UsageQuery
    chart: BarChart
    limit_text: str
    total: UsageRow
    endpoints: list[UsageRow]
    clients: list[UsageRow]
    keys: list[UsageRow]
    codes: list[UsageRow]

    @property
    def has_apis(self) -> bool:
        """Whether there were calls to another API than `/v1`."""
        return any(line.is_api for line in self.endpoints)


def format_percent(part: int, whole: int) -> str:
    """Format a share in percent. A nonzero part is never "0 %", and an incomplete one never "100 %"."""
    share = 100 * part / whole if whole else 0
    if 0 < share < 0.1:
        return "< 0.1 %"
    if 99.9 < share < 100:
        return "> 99.9 %"
    return f"{share:.1f} %" if share % 1 else f"{share:.0f} %"


def format_quantile(latencies: Sequence[int], hundredth: int) -> str:
    """Return the upper edge of the latency class that holds this percentile, as text."""
    total = sum(latencies)
    if not total:
        return "–"  # noqa: RUF001  (a dash in a table)
    below = 0
    for edge, count in zip(LATENCY_EDGES_MS, latencies, strict=False):
        below += count
        if below * 100 >= total * hundredth:
            return f"≤ {edge:,} ms"
    return f"> {LATENCY_EDGES_MS[-1]:,} ms"


def usage_report(project: Project, query: UsageQuery) -> UsageReport:
    """Return the report of a project's usage page."""
    since, until = query.bounds()
    log = _log_of(project, query)
    kinds = usage_counts.series(project, since, until, "endpoint", "status", "code", **query.only)
    chart = _chart(project, query, log)
    callers = usage_counts.by_caller(project, since, until, **query.only)
    return UsageReport(
        query,
        chart,
        _limit_text(query, chart),
        _line("", kinds, log=log.url(since, until, status="errors")),
        _endpoints(kinds, query, log),
        _clients(project, query, log, [row for row in callers if row["client"]][:MAX_ROWS]),
        _keys(project, query, log, [row for row in callers if row["credential"]][:MAX_ROWS]),
        _codes(kinds, query, log),
    )


def _log_of(project: Project, query: UsageQuery) -> LogLink:
    """Return the request log with the filters of the query. A call has a client or a key, and never both."""
    endpoint = _log_filters(query.endpoint) if query.endpoint else {}
    return request_log(project, **endpoint, who=query.client or query.key)


def _log_filters(endpoint: str) -> dict[str, str]:
    """Return the request log's filters for what calls are counted under: an endpoint of `/v1`, or another API."""
    if _api_of(endpoint):
        return {"api": endpoint}
    return {"path": NO_ENDPOINT if endpoint == UNKNOWN_ENDPOINT else f"/v1/{endpoint}"}


def _api_of(endpoint: str) -> ApiSnapshot | None:
    """Return the API whose calls are counted under this name, None for an endpoint of `/v1`."""
    api = current_registry().apis.get(endpoint)
    return None if api is None or api.is_own else api


# --- The chart ---


def _chart(project: Project, query: UsageQuery, log: LogLink) -> BarChart:
    since, until = query.bounds()
    span = query.span
    now = clock.now()
    starts = [start for place in range(span.bars) if (start := since + place * span.step) <= now]
    values = [[0] * len(starts) for _ in STATUS_CLASSES]
    before = [0] * len(starts)
    # The same statement also reads the period before, if its counts are still kept.
    earlier = since - span.whole if 2 * span.whole <= settings.USAGE_DAYS * _DAY else since
    for row in usage_counts.series(project, earlier, until, span.unit, "status", **query.only):
        place = (row[span.unit] - since) // span.step
        if 0 <= place < len(starts):
            values[status_class(row["status"])][place] += row["total_count"]
        elif -span.bars <= place < len(starts) - span.bars:
            before[place + span.bars] += row["total_count"]
    bands = [Series(name, kind, counts) for (name, kind), counts in zip(STATUS_CLASSES, values, strict=True)]
    choices = dict(zip((kind for _, kind in STATUS_CLASSES), ("2xx", "4xx", "429", "5xx"), strict=True))

    def link(start: datetime, end: datetime, band: Series | None) -> str:
        return log.url(start, end, status=choices[band.kind] if band else "")

    bars = BarChart(
        "requests",
        f"Requests, last {span.words}",
        starts,
        span.step,
        bands,
        link=link,
        before=before if any(before) else (),
    )
    limit = _limit(query)
    if span.unit == "minute" and bars.peak * _NEAR >= limit:
        return replace(bars, limit=LimitLine(f"{limit:,} a minute", limit))
    return bars


def _limit(query: UsageQuery) -> int:
    """Return the limit that applies to the calls of the query. Each API has its own."""
    api = _api_of(query.endpoint)
    return api.calls_per_minute if api else settings.API_CALLS_PER_MINUTE


def _limit_text(query: UsageQuery, chart: BarChart) -> str:
    span, limit, api = query.span, _limit(query), _api_of(query.endpoint)
    own = " to /v1" if len(current_registry().apis) > 1 else ""
    where = f" to {api.name}" if api else own
    rule = f"One key or one app may make {limit:,} requests a minute{where}"
    if span.unit != "minute":
        return f"{rule}. Further requests get 429. The last hour shows single minutes, with the limit as a line."
    if chart.limit is None:
        return f"{rule}, which is far above the highest bar here ({chart.peak:,})."
    return f"{rule}: the dashed line. Several of them together may exceed it. To compare one, filter the page by it."


# --- The tables ---


def _latencies(row: Mapping[str, Any]) -> list[int]:
    return [row[f"total_{name}"] for name in LATENCY_FIELDS]


def _line(name: str, rows: Iterable[Mapping[str, Any]], narrow: str = "", log: str = "") -> UsageRow:
    calls = errors = 0
    latencies = [0] * len(LATENCY_FIELDS)
    for row in rows:
        calls += row["total_count"]
        errors += row["total_count"] if row["status"] >= 400 else 0
        latencies = [sum(pair) for pair in zip(latencies, _latencies(row), strict=True)]
    return UsageRow(name, calls, errors, latencies, narrow, log=log)


def _path(endpoint: str) -> str:
    """Return the name of an API, or the path of an endpoint of `/v1`."""
    if api := _api_of(endpoint):
        return api.name
    return "No such endpoint" if endpoint == UNKNOWN_ENDPOINT else f"/v1/{endpoint}"


def _endpoints(kinds: Sequence[Mapping[str, Any]], query: UsageQuery, log: LogLink) -> list[UsageRow]:
    names = {kind["endpoint"] for kind in kinds}
    lines = [
        replace(
            _line(
                _path(name),
                (kind for kind in kinds if kind["endpoint"] == name),
                query.address(endpoint=name),
                log.url(query.bounds()[0], query.bounds()[1], status="errors", **_log_filters(name)),
            ),
            is_api=_api_of(name) is not None,
        )
        for name in sorted(names)
    ]
    return sorted(lines, key=lambda line: -line.calls)


def _codes(kinds: Sequence[Mapping[str, Any]], query: UsageQuery, log: LogLink) -> list[UsageRow]:
    refused = [kind for kind in kinds if kind["status"] >= 400]
    names = {kind["code"] for kind in refused}
    lines = [
        _line(
            name,
            (kind for kind in refused if kind["code"] == name),
            log=log.url(*query.bounds(), code=name) if name in CODES else "",
        )
        for name in sorted(names)
    ]
    return sorted(lines, key=lambda line: -line.calls)


def _clients(project: Project, query: UsageQuery, log: LogLink, rows: Sequence[Mapping[str, Any]]) -> list[UsageRow]:
    names = Client.objects.filter(project=project, client_id__in=[row["client"] for row in rows])
    known = dict(names.values_list("client_id", "name"))
    return [
        UsageRow(
            known.get(row["client"], "An app that was deleted"),
            row["total_count"],
            row["errors"],
            _latencies(row),
            narrow=query.address(client=row["client"]),
            page=row["client"] if row["client"] in known else "",
            note=row["client"],
            log=log.url(*query.bounds(), status="errors", who=row["client"]),
        )
        for row in rows
    ]


def _keys(project: Project, query: UsageQuery, log: LogLink, rows: Sequence[Mapping[str, Any]]) -> list[UsageRow]:
    names = ApiKey.objects.filter(project=project, public_id__in=[row["credential"] for row in rows])
    known = {key.public_id: key for key in names}
    return [
        UsageRow(
            known[key_id].name if key_id in known else "A key that was deleted",
            row["total_count"],
            row["errors"],
            _latencies(row),
            narrow=query.address(key=key_id),
            note=known[key_id].masked if key_id in known else key_id,
            log=log.url(*query.bounds(), status="errors", who=key_id),
        )
        for row in rows
        for key_id in [row["credential"]]
    ]


def usage_bar(query: UsageQuery, report: UsageReport) -> FilterBar:
    """Return the choice of the time range, and the filters that apply."""
    client = report.clients[0].name if query.client and report.clients else query.client
    key = report.keys[0].name if query.key and report.keys else query.key
    given = (
        ("endpoint", "API" if _api_of(query.endpoint) else "Endpoint", query.endpoint and _path(query.endpoint)),
        ("client", "App", client),
        ("key", "Key", key),
    )
    return range_bar(
        [(span.name, f"Last {span.words}", span is query.span) for span in TIME_RANGES],
        kept={name: text for name, text in query.filters.items() if text},
        chips=[Chip(label, value, query.address(**{name: ""})) for name, label, value in given if value],
    )


def _columns(project: Project, unit: str) -> Columns[tuple[datetime, UsageCountsByCaller]]:
    """Return the columns of the file, which has a row for each kind of request and unit of time."""
    clients = dict(Client.objects.filter(project=project).values_list("client_id", "name"))
    keys = dict(ApiKey.objects.filter(project=project).values_list("public_id", "name"))
    return {
        f"{unit}_utc": lambda row: row[0],
        "endpoint": lambda row: row[1].endpoint,
        "status": lambda row: row[1].status,
        "error": lambda row: row[1].code,
        "client_id": lambda row: row[1].client,
        "client": lambda row: clients.get(row[1].client, ""),
        "key_id": lambda row: row[1].credential,
        "key": lambda row: keys.get(row[1].credential, ""),
        "requests": lambda row: row[1].count,
        **{name: partial(_latency, name) for name in LATENCY_FIELDS},
    }


def _latency(name: str, row: tuple[datetime, UsageCountsByCaller]) -> int:
    return int(getattr(row[1], name))


def _file(project: Project, query: UsageQuery, file_format: str) -> HttpResponseBase:
    """Return the file, named after project, time range and end."""
    since, until = query.bounds()
    unit = query.span.unit
    rows = usage_counts.iterate_rows(project, since, until, unit, **query.only)
    name = f"usage-{project.public_id}-{query.span.name}-until-{until:%Y%m%dT%H%MZ}"
    return export(name, file_format, _columns(project, unit), rows)


@page_from_replica
@console_page()
def usage(request: HttpRequest, project_id: str) -> HttpResponseBase:
    """GET …/analytics?range=…&endpoint=…&client=…&key=…: chart and tables. `?format=csv` or `json` downloads them."""
    membership = get_membership(request, project_id)
    query = UsageQuery.of(request)
    if file_format := requested_format(request):
        return _file(membership.project, query, file_format)
    found = usage_report(membership.project, query)
    return render_page(
        request,
        "console/usage.html",
        membership,
        report=found,
        bar=usage_bar(query, found),
        query=query,
        most_rows=MAX_ROWS,
    )
