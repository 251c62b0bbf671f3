"""The request log page: each request, narrowed and paged, and the filter bar that all logs share."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from api import usage_counts
from api.models import ApiKey, RequestLog
from core import clock
from devportal.console.filter_bar import FilterBar
from devportal.console.logs.filters import parse_time
from oidc.models import Client, Project
from tests.api.calls import ME, call
from tests.factories import make_api, make_client, make_key, make_project

AT = datetime(2026, 11, 21, 4, 30, 20, tzinfo=UTC)


@pytest.fixture
def key(project: Project) -> ApiKey:
    return make_key(project)[0]


def log(project: Project, **values: Any) -> RequestLog:
    """Write an entry."""
    entry: dict[str, Any] = {"at": AT, "method": "GET", "path": "/v1/me", "status": 200, "milliseconds": 3}
    return RequestLog.objects.create(project=project, **entry | {"request_id": "r"} | values)


def address(project: Project, **filters: str) -> str:
    return f"{reverse('console:requests', args=[project.public_id])}?{urlencode(filters)}"


def page(browser: Browser, project: Project, **filters: str) -> str:
    response = browser.get(address(project, **filters))
    assert response.status_code == 200
    return str(response.content.decode())


def shown(browser: Browser, project: Project, **filters: str) -> list[str]:
    """Return the request ids on the page, from its top."""
    return [line.row.request_id for line in browser.get(address(project, **filters)).context["lines"]]


# --- What it shows ---


def test_a_call_appears_with_all_details(as_viewer: Browser, project: Project) -> None:
    raw = make_key(project)[1]
    response = call(ME, raw)
    usage_counts.flush_usage()
    text = page(as_viewer, project)
    sub = response.json()["id"]
    for shows in ("GET /v1/me", ">200<", "A script", f"{sub[:4]}…{sub[-4:]}"):
        assert shows in text, shows
    assert sub not in text
    assert raw not in text


def test_each_entry_has_its_time(as_viewer: Browser, project: Project) -> None:
    log(project, at=AT)
    assert 'datetime="2026-11-21T04:30:20Z"' in page(as_viewer, project)


def test_the_caller_is_named(as_viewer: Browser, project: Project, key: ApiKey) -> None:
    client = make_client(project, name="Web Notes")
    log(project, client=client.client_id)
    log(project, client="op_client_gone")
    log(project, credential=key.public_id)
    log(project, credential="gone")
    names = [line.name for line in as_viewer.get(address(project)).context["lines"]]
    assert names == ["A key that was deleted", "A script", "An app that was deleted", "Web Notes"]


# --- Filters ---


def test_names_of_another_project_are_not_shown(as_viewer: Browser, project: Project) -> None:
    other = make_client(make_project(), name="Secret name")
    log(project, client=other.client_id)
    assert "Secret name" not in page(as_viewer, project)


@pytest.fixture
def varied(project: Project, key: ApiKey) -> Project:
    """A log with entries of all kinds."""
    kinds = [(200, ""), (304, ""), (401, "invalid_token"), (429, "rate_limited"), (500, "internal_error")]
    for number, (status, code) in enumerate(kinds):
        log(project, status=status, code=code, request_id=str(status), at=AT + timedelta(minutes=number), client="c1")
    log(project, path="/v1/me/plan", request_id="plan", credential=key.public_id, at=AT + timedelta(hours=1))
    log(make_project(), request_id="200", client="c1")
    return project


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, ["plan", "500", "429", "401", "304", "200"]),
        ({"status": "2xx"}, ["plan", "304", "200"]),
        ({"status": "4xx"}, ["401"]),
        ({"status": "429"}, ["429"]),
        ({"status": "5xx"}, ["500"]),
        ({"code": "rate_limited"}, ["429"]),
        ({"path": "/v1/me/plan"}, ["plan"]),
        ({"path": "/v1/me"}, ["500", "429", "401", "304", "200"]),
        ({"who": "c1"}, ["500", "429", "401", "304", "200"]),
        ({"who": "c1", "code": "invalid_token", "path": "/v1/me"}, ["401"]),
        ({"request_id": "  304 "}, ["304"]),
        ({"from": "2026-11-21T04:33:20"}, ["plan", "500", "429"]),
        ({"to": "2026-11-21T04:31:20Z"}, ["200"]),
        ({"from": "2026-11-21T04:31:20", "to": "2026-11-21T05:33:20+01:00"}, ["401", "304"]),
    ],
)
def test_filters(filters: dict[str, str], found: list[str], as_viewer: Browser, varied: Project) -> None:
    assert shown(as_viewer, varied, **filters) == found


def test_a_key_is_found_by_what_pages_show_of_it(as_viewer: Browser, varied: Project, key: ApiKey) -> None:
    for text in (key.public_id, f"op_key_{key.public_id}", f"op_key_{key.public_id}…{key.last_four}"):
        assert shown(as_viewer, varied, who=text) == ["plan"]


def test_the_form_keeps_the_filters(as_viewer: Browser, varied: Project) -> None:
    text = page(as_viewer, varied, status="4xx", who="c9", **{"from": "2026-11-21T04:31"})
    assert '<option value="4xx" selected>' in text
    assert 'value="c9"' in text
    assert 'value="2026-11-21T04:31"' in text
    assert "No request matches the filters" in text
    assert "Show all" in text


def test_a_request_id_that_is_not_written_yet_is_explained(as_viewer: Browser, varied: Project) -> None:
    assert "There is no entry with this request id yet" in page(as_viewer, varied, request_id="soon")


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("from", "9999-12-31T23:59-14:00", "Enter a time as"),
        ("to", "0001-01-01T00:00+14:00", "Enter a time as"),
        ("request_id", "x" * 300, "This is too long"),
    ],
)
def test_invalid_filters_are_reported_and_ignored(
    name: str, value: str, sentence: str, as_viewer: Browser, varied: Project
) -> None:
    assert len(shown(as_viewer, varied, **{name: value})) == 6
    text = page(as_viewer, varied, **{name: value})
    assert sentence in text
    assert f'aria-describedby="{name}_error"' in text


def test_filters_are_escaped(as_viewer: Browser, varied: Project) -> None:
    for name in ("status", "code", "path", "who", "request_id", "from", "to", "before", "after"):
        assert "<script>alert" not in page(as_viewer, varied, **{name: '"><script>alert(1)</script>'})


def test_hostile_values_are_escaped(as_viewer: Browser, project: Project) -> None:
    hostile = '"><script>alert(1)</script>'
    make_client(project, name=hostile, client_id="c1")
    log(project, client="c1")
    log(project, client=hostile, request_id=hostile, path=hostile, code="<script>x", subject="<script>y")
    text = page(as_viewer, project)
    assert "<script>alert" not in text
    assert "<script>x" not in text
    assert "&lt;script&gt;alert(1)" in text


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T14:05", datetime(2026, 1, 31, 14, 5, tzinfo=UTC)),
        ("2026-01-31 14:05:06Z", datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC)),
        ("2026-01-31T14:05+02:00", datetime(2026, 1, 31, 12, 5, tzinfo=UTC)),
    ],
)
def test_times_are_in_utc_unless_they_say_otherwise(text: str, moment: datetime) -> None:
    assert parse_time(text) == moment


# --- Who, and at what cost ---


def test_a_page_searches_a_bounded_number_of_entries(
    as_viewer: Browser, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devportal.console.logs.filters.SEARCHED", 4)
    for number in range(10):
        log(project, path="/v1/rare" if number in (1, 2) else "/v1/me", request_id=f"r{number}")
    path = reverse("console:requests", args=[project.public_id])
    query, pages = "?q=rare", []
    with CaptureQueriesContext(connection) as queries:
        as_viewer.get(path + query)
    is_planned = any("force_custom_plan" in each["sql"] for each in queries)
    assert is_planned == (connection.vendor == "postgresql")
    for _ in range(3):
        response = as_viewer.get(path + query)
        pages.append([line.row.request_id for line in response.context["lines"]])
        query = response.context["page"].older
        is_last = query == ""
        assert ("4 entries were searched for this page" in response.content.decode()) == (not is_last)
    assert (pages, is_last) == ([[], ["r2"], ["r1"]], True)
    assert shown(as_viewer, project, request_id="r1") == ["r1"]
    assert shown(as_viewer, project, q="rare", **{"from": "2026-01-01T00:00"}) == ["r2", "r1"]


def test_a_filter_by_client_is_one_by_client_of_this_project(as_viewer: Browser, project: Project, app: Client) -> None:
    log(make_project(), client=app.client_id, request_id="elsewhere")
    assert shown(as_viewer, project, who=app.client_id) == []


# --- The company's own APIs ---


@pytest.fixture
def of_apis(project: Project) -> Project:
    """A log with calls to `/v1` and to two other APIs, one of which was deleted."""
    make_api(name="Orbit <Calendar>")
    log(project, request_id="own")
    log(project, request_id="calendar", api="calendar", method="POST", path="/connect/introspect")
    log(project, request_id="gone", api="gone", method="POST", path="/connect/introspect")
    return project


def test_calls_name_their_api(as_viewer: Browser, of_apis: Project) -> None:
    lines = as_viewer.get(address(of_apis)).context["lines"]
    assert [line.api_name for line in lines] == ["gone", "Orbit <Calendar>", ""]
    assert "<bdi>Orbit &lt;Calendar&gt;</bdi>" in page(as_viewer, of_apis)
    text = b"".join(as_viewer.get(address(of_apis, format="csv"))).decode("utf-8-sig")
    assert text.splitlines()[0].startswith("time_utc,api,method")
    assert ",calendar,POST,/connect/introspect," in text


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"api": "calendar"}, ["calendar"]),
        ({"api": "account"}, ["own"]),
        ({"api": "nonsense"}, ["gone", "calendar", "own"]),
        ({"path": "none"}, []),
        ({"api": "calendar", "path": "/v1/me"}, []),
    ],
)
def test_the_log_is_filtered_by_api(
    as_viewer: Browser, of_apis: Project, filters: dict[str, str], found: list[str]
) -> None:
    assert shown(as_viewer, of_apis, **filters) == found


def bar(browser: Browser, project: Project, **filters: str) -> FilterBar:
    found: FilterBar = browser.get(address(project, **filters)).context["bar"]
    return found


@pytest.fixture
def aged(project: Project) -> Project:
    """A log with an entry of each age in minutes."""
    for minutes in (5 * 24 * 60, 20 * 60, 40, 5):
        log(project, at=clock.now() - timedelta(minutes=minutes), request_id=str(minutes), client="c1")
    return project


@pytest.mark.parametrize(
    ("span", "found"),
    [
        ("15m", ["5"]),
        ("1h", ["5", "40"]),
        ("24h", ["5", "40", "1200"]),
        ("7d", ["5", "40", "1200", "7200"]),
        ("", ["5", "40", "1200", "7200"]),
    ],
)
def test_spans_count_back_from_now(span: str, found: list[str], as_viewer: Browser, aged: Project) -> None:
    assert shown(as_viewer, aged, range=span) == found


@pytest.mark.parametrize("span", ["90d", "x" * 3000])
def test_an_invalid_time_span_is_ignored(span: str, as_viewer: Browser, aged: Project) -> None:
    assert len(shown(as_viewer, aged, range=span)) == 4


def test_from_and_to_take_precedence_over_a_time_span(as_viewer: Browser, aged: Project) -> None:
    since = (clock.now() - timedelta(hours=30)).strftime("%Y-%m-%dT%H:%M")
    assert shown(as_viewer, aged, range="15m", **{"from": since}) == ["5", "40", "1200"]


def test_the_time_range_is_chosen_in_the_filter_bar(as_viewer: Browser, aged: Project) -> None:
    span = bar(as_viewer, aged, status="2xx", range="1h").selects[-1]
    assert [label for _, label, _ in span.options] == [
        "Last 15 minutes", "Last hour", "Last 24 hours", "Last 7 days", "Last 30 days",
    ]  # fmt: skip
    assert [label for _, label, chosen in span.options if chosen] == ["Last hour"]


def test_filters_below_more_are_chips_that_can_be_removed(as_viewer: Browser, aged: Project) -> None:
    found = bar(as_viewer, aged, status="2xx", who="c 1", range="1h")
    assert [(chip.label, chip.value) for chip in found.chips] == [("App or key id", "c 1")]
    assert found.chips[0].link == "?status=2xx&range=1h"
    assert bar(as_viewer, aged, who="c 1").chips[0].link == "?"
    text = as_viewer.get(address(aged, who="c 1")).content.decode()
    assert 'Remove<span class="visually-hidden"> the filter App or key id</span>' in text


def test_an_invalid_filter_opens_the_form(as_viewer: Browser, aged: Project) -> None:
    found = bar(as_viewer, aged, **{"from": "soon"})
    assert found.chips == []
    assert found.is_open
    assert not bar(as_viewer, aged).is_open


def test_pages_and_entries_keep_the_filters(as_viewer: Browser, project: Project) -> None:
    for number in range(55):
        log(project, request_id=str(number), at=clock.now())
    response = as_viewer.get(address(project, status="2xx", range="1h"))
    older = response.context["page"].older
    assert "status=2xx" in older
    assert "range=1h" in older
    row = response.context["lines"][0].row
    link = f"/console/p/{project.public_id}/logs/requests/{row.pk}?status=2xx&amp;range=1h"
    assert f'href="{link}"' in response.content.decode()
    entry = as_viewer.get(link.replace("&amp;", "&"))
    assert entry.context["log_url"] == address(project, status="2xx", range="1h")
