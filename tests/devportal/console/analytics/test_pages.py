"""The pages of sign-ins: what was counted, where it was lost, and the same as CSV."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from core import clock
from devportal.console.analytics import store
from devportal.console.analytics.report import MAX_ROWS, RANGES, build_funnel
from devportal.console.models import SignInEvent
from oidc.models import Client, Project
from tests.factories import make_client

NOW = datetime(2026, 11, 21, 4, 30, 20, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture(autouse=True)
def at_half_past_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def app(project: Project) -> Client:
    return make_client(project, name="=Web Notes")


def add(client: Client, ago: timedelta = timedelta(0), **steps: int) -> None:
    """Count steps of an hour; two underscores part a step from its error."""
    start = (NOW - ago).replace(minute=0, second=0, microsecond=0)
    pairs = ((*name.partition("__")[::2], times) for name, times in steps.items())
    store.add_counts(store.SignInCount(client.pk, start, step, error, times) for step, error, times in pairs)


def a_funnel(client: Client, ago: timedelta = timedelta(0)) -> None:
    add(client, ago, started=90, silent=10, shown=40, skipped=30, allowed=25, issued=55, exchanged=50)
    add(
        client,
        ago,
        cancelled__access_denied=9,
        refused__login_required=6,
        cancelled__unmet_authentication_requirements=2,
    )
    add(client, ago, not_exchanged__invalid_grant=3, turned_away__invalid_request=7, refreshed=11, revoked=4)
    add(client, ago, not_refreshed__invalid_grant=1, new_person=20, returning=12)


def address(client: Client, query: str = "", name: str = "client_analytics") -> str:
    return reverse(f"console:{name}", args=[client.project.public_id, client.client_id]) + query


def project_address(project: Project, query: str = "", name: str = "project_analytics") -> str:
    return reverse(f"console:{name}", args=[project.public_id]) + query


def text_of(browser: Browser, path: str) -> str:
    response = browser.get(path)
    assert response.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


# --- The funnel ---


def test_each_stage_shows_the_loss_before_it(as_viewer: Browser, app: Client) -> None:
    a_funnel(app)
    report = as_viewer.get(address(app)).context["report"]
    stages = {stage.name: stage for stage in report.stages}
    assert [(stage.name, stage.count, stage.lost) for stage in report.stages] == [
        ("Started", 100, 0),
        ("Consent", 70, 30),
        ("Allowed", 55, 15),
        ("Code issued", 55, 0),
        ("Signed in", 50, 5),
    ]
    told = {name: [(loss.count, loss.text, loss.error) for loss in stage.losses] for name, stage in stages.items()}
    assert told["Consent"] == [
        (2, "cancelled", "unmet_authentication_requirements"),
        (6, "refused", "login_required"),
        (22, "left, or not finished yet", ""),
    ]
    assert told["Allowed"] == [(9, "cancelled", "access_denied"), (6, "left, or not finished yet", "")]
    assert told["Signed in"] == [(3, "attempts refused", "invalid_grant"), (2, "never fetched, or not yet", "")]
    assert "10 of them without a page" in stages["Started"].meaning


def test_more_refusals_than_codes_lose_no_more_than_there_were() -> None:
    stages = build_funnel(
        {("started", ""): 3, ("skipped", ""): 3, ("issued", ""): 3, ("not_exchanged", "invalid_grant"): 9}
    )
    assert [(stage.count, stage.lost) for stage in stages] == [(3, 0), (3, 0), (3, 0), (3, 0), (0, 3)]
    assert [loss.count for loss in stages[-1].losses] == [9]


def test_the_page_says_it_in_words_and_draws_it(as_viewer: Browser, app: Client) -> None:
    a_funnel(app)
    text = text_of(as_viewer, address(app))
    for words in (
        "Started 100",
        "Lost before it Why Started",
        "9 cancelled: access_denied",
        "7 refused: invalid_request",
        "Refreshed 11",
    ):
        assert words in text, words
    page = as_viewer.get(address(app)).content.decode()
    assert page.count("chart__drawing--") >= 9  # three drawings of three widths
    assert "Consent 70, 70 %" in page


def test_a_reason_leads_to_its_entries_in_the_log(as_viewer: Browser, app: Client) -> None:
    a_funnel(app)
    details: dict[str, Any] = {"at": NOW - HOUR, "endpoint": "authorize", "request_id": "r"}
    cancelled = {"outcome": "cancelled", "error": "access_denied"}
    wanted = SignInEvent.objects.create(client=app, step="cancelled", **cancelled, **details)
    SignInEvent.objects.create(client=app, step="refused", outcome="refused", error="login_required", **details)
    SignInEvent.objects.create(client=app, **cancelled, **details)  # a repeated request, which is not counted
    page = as_viewer.get(address(app)).content.decode()
    links = re.findall(r'href="([^"]+/sign-ins\?[^"]+)"', page)
    (link,) = [one.replace("&amp;", "&") for one in links if "error=access_denied" in one]
    found = as_viewer.get(link).context
    assert not found["filters"].errors
    assert [line.row.pk for line in found["lines"]] == [wanted.pk]


# --- Time ---


@pytest.mark.parametrize(("span", "ago", "counts"), [
    ("24h", 23 * HOUR, True), ("24h", 25 * HOUR, False), ("7d", 6 * DAY, True), ("7d", 8 * DAY, False),
    ("30d", 29 * DAY, True), ("30d", 31 * DAY, False), ("90d", 89 * DAY, True), ("90d", 91 * DAY, False),
])  # fmt: skip
def test_each_range(span: str, ago: timedelta, counts: bool, as_viewer: Browser, app: Client) -> None:
    add(app, ago, started=3, issued=3, skipped=3, exchanged=2, refused__login_required=1)
    report = as_viewer.get(address(app, f"?range={span}")).context["report"]
    assert report.is_empty is not counts
    assert report.started.count == (3 if counts else 0)
    ends = {band.name: sum(band.values) for band in report.ends.bands}
    assert ends == {"Signed in": 2 if counts else 0, "Cancelled": 0, "Refused": 1 if counts else 0}


def test_the_bar_of_now_is_the_last(as_viewer: Browser, app: Client) -> None:
    add(app, exchanged=5)
    for span in RANGES:
        report = as_viewer.get(address(app, f"?range={span.name}")).context["report"]
        assert report.ends.bands[0].values[-1] == 5, span.name


def test_people_by_day(as_viewer: Browser, app: Client) -> None:
    add(app, 2 * DAY, new_person=4, returning=1)
    add(app, new_person=2, returning=3)
    for query, sums in (("?range=24h", (2, 3)), ("?range=7d", (6, 4))):
        report = as_viewer.get(address(app, query)).context["report"]
        days = {bar.start: list(bar.values) for bar in report.people.bars if bar.total}
        midnight = NOW.replace(hour=0, minute=0, second=0)
        assert days == {midnight - 2 * DAY: [1, 4], midnight: [3, 2]}
        assert (report.new_people, report.returning) == sums


@pytest.mark.parametrize("query", ["?range=1h", "?range=x", "?range=%20", "?range=" + "9" * 3000])
def test_an_invalid_range_shows_the_default(query: str, as_viewer: Browser, app: Client) -> None:
    assert as_viewer.get(address(app, query)).context["query"].span.name == "7d"


# --- A project ---


def test_a_project_adds_up_its_clients_and_no_others(as_viewer: Browser, project: Project, app: Client) -> None:
    other, foreign = make_client(project, name="Live"), make_client(name="Elsewhere")
    a_funnel(app)
    add(other, started=200, shown=200, cancelled__access_denied=1, new_person=2)
    add(foreign, started=5000)
    report = as_viewer.get(project_address(project)).context["report"]
    assert (report.started.count, report.new_people) == (300, 22)
    rows = [(row.client.name, row.started, row.signed_in, row.cancelled, row.refused) for row in report.clients]
    assert rows == [("Live", 200, 0, 1, 0), ("=Web Notes", 100, 50, 11, 16)]
    assert "Elsewhere" not in text_of(as_viewer, project_address(project))


def test_empty_pages_say_what_to_do(as_viewer: Browser, project: Project) -> None:
    assert "no clients yet" in text_of(as_viewer, project_address(project))
    client = make_client(project)
    for path in (project_address(project), address(client, "?range=90d")):
        assert (
            reverse("console:quick_start", args=[project.public_id, client.client_id])
            in as_viewer.get(path).content.decode()
        )
    assert "There were no sign-ins in the last 90 days" in text_of(as_viewer, address(client, "?range=90d"))


def test_the_pages_take_few_statements(as_viewer: Browser, project: Project, app: Client) -> None:
    for number in range(8):
        client = make_client(project, name=f"App {number}")
        for ago in range(7):
            a_funnel(client, ago * DAY)
    for path in (address(app), project_address(project), project_address(project, "?range=90d")):
        as_viewer.get(path)
        with CaptureQueriesContext(connection) as queries:
            as_viewer.get(path)
        assert len(queries) <= 12, path


def test_the_busiest_clients_come_first_and_no_more_than_fit(as_viewer: Browser, project: Project) -> None:
    for number in range(MAX_ROWS + 2):
        add(make_client(project, name=f"App {number:02}"), HOUR, started=number + 1, refused__login_required=1)
    report = as_viewer.get(project_address(project)).context["report"]
    assert [row.started for row in report.clients] == list(range(MAX_ROWS + 2, 2, -1))
    assert report.clients[0].client.name == f"App {MAX_ROWS + 1:02}"
    assert {(row.refused, row.cancelled) for row in report.clients} == {(1, 0)}


# --- CSV ---


def lines(browser: Browser, path: str) -> list[dict[str, str]]:
    response = browser.get(path)
    assert response["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode("utf-8-sig"))))  # type: ignore[attr-defined]


def test_the_csv_file_has_every_count(as_viewer: Browser, project: Project, app: Client) -> None:
    add(app, HOUR, started=3, turned_away__invalid_request=2)
    rows = lines(as_viewer, address(app, "?range=24h", "client_analytics_csv"))
    assert [(row["hour_utc"], row["step"], row["error"], row["count"]) for row in rows] == [
        ("2026-11-21T03:00:00Z", "started", "", "3"),
        ("2026-11-21T03:00:00Z", "turned_away", "invalid_request", "2"),
    ]
    # A name that a spreadsheet would take for a formula is text there.
    assert {row["client"] for row in rows} == {"'=Web Notes"}
    rows = lines(as_viewer, project_address(project, "?range=90d", "project_analytics_csv"))
    assert [(row["day_utc"], row["count"]) for row in rows] == [
        ("2026-11-21T00:00:00Z", "3"),
        ("2026-11-21T00:00:00Z", "2"),
    ]


def test_the_csv_file_has_a_descriptive_name(as_viewer: Browser, app: Client) -> None:
    response = as_viewer.get(address(app, "?range=30d", "client_analytics_csv"))
    assert response["Content-Disposition"] == (
        f'attachment; filename="sign-ins-{app.client_id}-30d-until-20261122T0000Z.csv"'
    )


def test_the_file_of_a_project_has_all_its_clients(as_viewer: Browser, project: Project) -> None:
    clients = [make_client(project, name=f"App {number:02}") for number in range(MAX_ROWS)]
    for client in clients:
        add(client, HOUR, started=1)
        add(client, 3 * HOUR, started=2)
    rows = lines(as_viewer, project_address(project, name="project_analytics_csv"))
    assert [(row["client_id"], row["count"]) for row in rows] == [
        (client.client_id, times) for client in clients for times in ("2", "1")
    ]
