"""The usage page and its CSV: what was counted, for those who may see it, in any stretch of time."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client as Browser
from django.urls import reverse

from api import usage_counts
from api.models import ApiKey
from api.usage_counts import UsageCount
from core import clock
from devportal.console.usage import TIME_RANGES, format_percent, format_quantile
from oidc.models import Client, Project
from tests.factories import make_api, make_client, make_key, make_project

NOW = datetime(2026, 11, 21, 4, 30, 20, tzinfo=UTC)


@pytest.fixture(autouse=True)
def at_half_past_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def client_of(project: Project) -> Client:
    return make_client(project, name="Web Notes")


@pytest.fixture
def key(project: Project) -> ApiKey:
    return make_key(project)[0]


def add(project: Project, ago: timedelta = timedelta(0), calls: int = 1, **values: Any) -> None:
    """Count calls that were made `ago`."""
    kind: dict[str, Any] = {"credential": "", "client": "", "endpoint": "me", "status": 200, "code": "", "latency": 0}
    minute = int((NOW - ago).timestamp()) // 60
    usage_counts.add_counts([UsageCount(project_id=project.pk, minute=minute, calls=calls, **kind | values)])


def address(project: Project, query: str = "", name: str = "usage") -> str:
    return reverse(f"console:{name}", args=[project.public_id]) + query


def page(browser: Browser, project: Project, query: str = "") -> str:
    response = browser.get(address(project, query))
    assert response.status_code == 200
    return str(response.content.decode())


def report(browser: Browser, project: Project, query: str = "") -> Any:
    return browser.get(address(project, query)).context["report"]


def table(browser: Browser, project: Project, query: str = "") -> list[list[str]]:
    """Return the lines of the CSV, its head apart."""
    response = browser.get(address(project, f"{query or '?'}&format=csv"))
    text = b"".join(response).decode()
    return list(csv.reader(io.StringIO(text)))[1:]


def test_bars_are_stacked_by_class_of_status(as_viewer: Browser, project: Project) -> None:
    assert "chart__drawing" not in page(as_viewer, project)
    for status, code, calls in ((200, "", 5), (304, "", 1), (401, "invalid_token", 2), (429, "rate_limited", 3)):
        add(project, status=status, code=code, calls=calls)
    add(project, status=502, code="upstream_unavailable", calls=4)
    found = report(as_viewer, project)
    assert [(band.name, sum(band.values)) for band in found.chart.bands] == [
        ("2xx and 3xx", 6),
        ("4xx", 2),
        ("429", 3),
        ("5xx", 4),
    ]
    assert (found.total.calls, found.total.errors) == (15, 9)
    assert [(line.name, line.calls) for line in found.codes] == [
        ("upstream_unavailable", 4),
        ("rate_limited", 3),
        ("invalid_token", 2),
    ]


@pytest.mark.parametrize(
    ("query", "bars", "first", "step", "unit"),
    [
        ("?range=1h", 60, datetime(2026, 11, 21, 3, 31, tzinfo=UTC), timedelta(minutes=1), "minute"),
        ("", 24, datetime(2026, 11, 20, 5, tzinfo=UTC), timedelta(hours=1), "hour"),
        # Days are whole: today is not over, and what is to come has no bars.
        ("?range=7d", 6 * 8 + 2, datetime(2026, 11, 15, tzinfo=UTC), timedelta(hours=3), "hour"),
        ("?range=30d", 30, datetime(2026, 10, 23, tzinfo=UTC), timedelta(days=1), "day"),
    ],
)
def test_time_ranges(
    query: str, bars: int, first: datetime, step: timedelta, unit: str, as_viewer: Browser, project: Project
) -> None:
    add(project)
    chart = report(as_viewer, project, query).chart
    assert (len(chart.starts), chart.starts[0], chart.step) == (bars, first, step)
    assert chart.starts[-1] <= NOW < chart.starts[-1] + step
    assert chart.bands[0].values[-1] == 1
    assert sum(chart.bands[0].values) == 1
    head = b"".join(as_viewer.get(address(project, f"{query or '?'}&format=csv"))).decode("utf-8-sig")
    assert head.startswith(f"{unit}_utc,")


@pytest.mark.parametrize("span", TIME_RANGES)
def test_each_call_is_in_its_bar_and_those_before_are_in_none(span: Any, as_viewer: Browser, project: Project) -> None:
    since, _ = span.bounds(NOW)
    minute = timedelta(minutes=1)
    add(project, NOW - since + minute, calls=100)
    add(project, NOW - since, calls=1)
    add(project, NOW - since - span.step + minute, calls=2)
    add(project, NOW - since - span.step, calls=4)
    add(make_project(), calls=1000)
    values = report(as_viewer, project, f"?range={span.name}").chart.bands[0].values
    # A bar of a minute has one minute only.
    assert list(values[:3]) == [3, 4, 0]
    assert sum(values) == 7


def test_tables_by_endpoint_client_and_key(
    as_viewer: Browser, project: Project, client_of: Client, key: ApiKey
) -> None:
    add(project, client=client_of.client_id, calls=4)
    add(project, client=client_of.client_id, endpoint="me/plan", status=403, code="insufficient_scope")
    add(project, client="op_client_gone", calls=2)
    add(project, credential=key.public_id, calls=7)
    found = report(as_viewer, project)
    assert [(line.name, line.calls, line.share) for line in found.endpoints] == [
        ("/v1/me", 13, "0 %"),
        ("/v1/me/plan", 1, "100 %"),
    ]
    assert [(line.name, line.calls, line.errors, line.note) for line in found.clients] == [
        ("Web Notes", 5, 1, client_of.client_id),
        ("An app that was deleted", 2, 0, "op_client_gone"),
    ]
    ((line),) = found.keys
    assert (line.name, line.calls) == ("A script", 7)
    assert line.note.endswith(f"{key.public_id}…{key.last_four}")
    text = page(as_viewer, project)
    assert reverse("console:client_settings", args=[project.public_id, client_of.client_id]) in text


@pytest.mark.parametrize("span", TIME_RANGES)
def test_filters_narrow_everything(
    span: Any, as_viewer: Browser, project: Project, client_of: Client, key: ApiKey
) -> None:
    add(project, client=client_of.client_id, calls=4)
    add(project, client=client_of.client_id, endpoint="me/plan", calls=3)
    add(project, client="other", calls=2)
    add(project, credential=key.public_id, calls=7)
    for query, calls in (
        ("&endpoint=me", 13),
        ("&endpoint=me/plan", 3),
        (f"&client={client_of.client_id}", 7),
        (f"&client={client_of.client_id}&endpoint=me", 4),
        (f"&key={key.public_id}", 7),
        ("&client=nobody", 0),
        (f"&client={client_of.client_id}&key={key.public_id}", 0),
    ):
        found = report(as_viewer, project, f"?range={span.name}{query}")
        assert (found.total.calls, sum(found.chart.bands[0].values)) == (calls, calls), query
        assert sum(int(line[8]) for line in table(as_viewer, project, f"?range={span.name}{query}")) == calls


def test_filters_can_be_removed(as_viewer: Browser, project: Project, client_of: Client) -> None:
    add(project, client=client_of.client_id)
    text = page(as_viewer, project, f"?range=7d&client={client_of.client_id}&endpoint=me")
    assert "<bdi>Web Notes</bdi>" in text
    assert f'href="?range=7d&amp;client={client_of.client_id}"' in text
    assert 'href="?range=7d&amp;endpoint=me"' in text
    assert "No request matches the filters" in page(as_viewer, project, "?client=x")


def test_filters_are_escaped(as_viewer: Browser, project: Project) -> None:
    add(project)
    for name in ("range", "endpoint", "client", "key"):
        assert "<script>" not in page(as_viewer, project, f"?{name}={quote('<script>x')}")


def test_the_limit_is_a_line_where_bars_are_minutes(as_viewer: Browser, project: Project, settings: Any) -> None:
    add(project, calls=settings.API_CALLS_PER_MINUTE // 2)
    chart = report(as_viewer, project, "?range=1h").chart
    assert (chart.limit.name, chart.limit.value) == ("600 a minute", 600)
    assert "the dashed line" in page(as_viewer, project, "?range=1h")
    for query in ("", "?range=7d", "?range=30d"):
        assert report(as_viewer, project, query).chart.limit is None
        assert "single minutes" in page(as_viewer, project, query)


def test_bars_are_not_pressed_flat_by_a_limit_that_is_far_away(as_viewer: Browser, project: Project) -> None:
    add(project, calls=3)
    assert report(as_viewer, project, "?range=1h").chart.limit is None
    assert "far above the highest bar here (3)" in page(as_viewer, project, "?range=1h")


@pytest.mark.parametrize(
    ("latencies", "hundredth", "text"),
    [
        ([1, 0, 0, 0, 0, 0, 0, 0], 50, "≤ 5 ms"),
        ([1, 1, 0, 0, 0, 0, 0, 0], 50, "≤ 5 ms"),
        ([1, 2, 0, 0, 0, 0, 0, 0], 50, "≤ 10 ms"),
        ([95, 0, 0, 0, 0, 0, 5, 0], 95, "≤ 5 ms"),
        ([94, 0, 0, 0, 0, 0, 6, 0], 95, "≤ 1,000 ms"),
        ([0, 0, 0, 0, 0, 0, 0, 3], 50, "> 1,000 ms"),
        ([0] * 8, 95, "\N{EN DASH}"),
    ],
)
def test_quantiles_are_edges_of_classes(latencies: list[int], hundredth: int, text: str) -> None:
    assert format_quantile(latencies, hundredth) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 0, "0 %"), (1, 2, "50 %"), (1, 3, "33.3 %"), (1, 10**6, "< 0.1 %"), (10**6 - 1, 10**6, "> 99.9 %")],
)
def test_shares_of_statuses_and_endpoints(part: int, whole: int, text: str) -> None:
    assert format_percent(part, whole) == text


def test_the_csv_has_what_the_page_counts(as_viewer: Browser, project: Project, client_of: Client, key: ApiKey) -> None:
    add(project, timedelta(hours=2), client=client_of.client_id, calls=4)
    add(project, credential=key.public_id, status=429, code="rate_limited", latency=7)
    response = as_viewer.get(address(project, "?format=csv"))
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"] == (
        f'attachment; filename="usage-{project.public_id}-24h-until-20261121T0500Z.csv"'
    )
    head, *lines = csv.reader(io.StringIO(b"".join(response).decode("utf-8-sig")))
    assert head[:9] == ["hour_utc", "endpoint", "status", "error", "client_id", "client", "key_id", "key", "requests"]
    assert [line[:9] for line in lines] == [
        ["2026-11-21T02:00:00Z", "me", "200", "", client_of.client_id, "Web Notes", "", "", "4"],
        ["2026-11-21T04:00:00Z", "me", "429", "rate_limited", "", "", key.public_id, "A script", "1"],
    ]
    assert [line[-1] for line in lines] == ["0", "1"]


@pytest.mark.parametrize("name", ["=1+1", "\r=1", "＝1"])  # noqa: RUF001  (full-width)
def test_csv_cells_are_no_formulas(name: str, as_viewer: Browser, project: Project, key: ApiKey) -> None:
    ApiKey.objects.update(name=name)
    make_client(project, name=name, client_id="c1")
    add(project, client="c1")
    add(project, credential=key.public_id)
    add(project, client=name)
    for line in table(as_viewer, project):
        assert not any(re.match(r"[=+\-@\t\r＝]", text) for text in line), line  # noqa: RUF001  (full-width)


def test_the_csv_is_streamed(
    as_viewer: Browser, project: Project, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    minute = int(NOW.timestamp()) // 60
    usage_counts.add_counts([UsageCount(project.pk, "", f"c{n}", "me", 200, "", minute, 0, 1) for n in range(3000)])
    with django_assert_max_num_queries(10):
        response = as_viewer.get(address(project, "?format=csv"))
        assert response.streaming
        assert sum(1 for _ in response) == 3001


def test_calls_are_labelled_and_filtered_by_api(as_viewer: Browser, project: Project) -> None:
    make_api(name="Orbit <Calendar>", calls_per_minute=7)
    for endpoint, calls in (("calendar", 3), ("me", 2)):
        add(project, endpoint=endpoint, calls=calls, status=403, code="insufficient_scope")
    text = page(as_viewer, project)
    assert "By API and endpoint" in text
    assert ">Orbit &lt;Calendar&gt;</a>" in text
    rows = report(as_viewer, project).endpoints
    assert [(row.name, row.calls) for row in rows] == [("Orbit <Calendar>", 3), ("/v1/me", 2)]
    assert "&api=calendar&" in rows[0].log
    assert "path" not in rows[0].log
    narrow = report(as_viewer, project, rows[0].narrow)
    assert narrow.total.calls == 3
    found = page(as_viewer, project, "?endpoint=calendar&range=1h")
    assert "API: <b" in found
    assert "7 requests a minute to Orbit &lt;Calendar&gt;" in found
    assert {line[1] for line in table(as_viewer, project, "?endpoint=calendar")} == {"calendar"}
