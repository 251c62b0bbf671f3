"""The pages of sign-ins: what was counted, where it was lost, the table by API, and the same as CSV."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urljoin

import pytest
from bs4 import BeautifulSoup
from django.test import Client as Browser
from django.urls import reverse

from accounts.models import Account
from api import usage_counts
from api.usage_counts import UsageCount
from core import clock
from devportal.console.analytics import apis, store
from devportal.console.analytics.report import MAX_ROWS, RANGES, build_funnel
from devportal.console.models import SignInEvent
from oidc.apis.registry import reload_registry
from oidc.models import Api, Client, Project, TokenFamily
from oidc.sign_in_log.steps import Endpoint, Outcome, Step
from tests import factories
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


@pytest.mark.parametrize("query", ["?range=1h", "?range=" + "9" * 3000])
def test_an_invalid_range_shows_the_default(query: str, as_viewer: Browser, app: Client) -> None:
    assert as_viewer.get(address(app, query)).context["query"].span.name == "7d"


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


def test_the_busiest_clients_come_first_and_no_more_than_fit(as_viewer: Browser, project: Project) -> None:
    for number in range(MAX_ROWS + 2):
        add(make_client(project, name=f"App {number:02}"), HOUR, started=number + 1, refused__login_required=1)
    report = as_viewer.get(project_address(project)).context["report"]
    assert [row.started for row in report.clients] == list(range(MAX_ROWS + 2, 2, -1))
    assert report.clients[0].client.name == f"App {MAX_ROWS + 1:02}"
    assert {(row.refused, row.cancelled) for row in report.clients} == {(1, 0)}


def lines(browser: Browser, path: str) -> list[dict[str, str]]:
    response = browser.get(path)
    assert response["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode("utf-8-sig"))))  # type: ignore[attr-defined]


def test_the_csv_file_has_every_count(as_viewer: Browser, project: Project, app: Client) -> None:
    add(app, HOUR, started=3, turned_away__invalid_request=2)
    rows = lines(as_viewer, address(app, "?range=24h&format=csv"))
    assert [(row["hour_utc"], row["step"], row["error"], row["count"]) for row in rows] == [
        ("2026-11-21T03:00:00Z", "started", "", "3"),
        ("2026-11-21T03:00:00Z", "turned_away", "invalid_request", "2"),
    ]
    # A name that a spreadsheet would take for a formula is text there.
    assert {row["client"] for row in rows} == {"'=Web Notes"}
    rows = lines(as_viewer, project_address(project, "?range=90d&format=csv"))
    assert [(row["day_utc"], row["count"]) for row in rows] == [
        ("2026-11-21T00:00:00Z", "3"),
        ("2026-11-21T00:00:00Z", "2"),
    ]


def test_the_file_of_a_project_has_all_its_clients(as_viewer: Browser, project: Project) -> None:
    clients = [make_client(project, name=f"App {number:02}") for number in range(MAX_ROWS)]
    for client in clients:
        add(client, HOUR, started=1)
        add(client, 3 * HOUR, started=2)
    rows = lines(as_viewer, project_address(project, "?format=csv"))
    assert [(row["client_id"], row["count"]) for row in rows] == [
        (client.client_id, times) for client in clients for times in ("2", "1")
    ]


@pytest.fixture
def calendar() -> Api:
    return factories.make_api(name="<b>Calendar</b>")


def sign_in(client: Client, account: Account, scope: str, ago: timedelta = timedelta(0)) -> None:
    found = client.connections.filter(account=account).first()
    if found is None:
        factories.make_access_token(client, account, ["openid"])
        found = client.connections.get(account=account)
    moment = NOW - ago
    family = TokenFamily.objects.create(connection=found, scope=scope, auth_time=moment, created_at=moment)
    for step, outcome in ((Step.ISSUED, Outcome.CODE_ISSUED), (Step.EXCHANGED, Outcome.SIGNED_IN)):
        SignInEvent.objects.create(
            client=client, at=moment, endpoint=Endpoint.AUTHORIZE, outcome=outcome, step=step, family=family.pk,
            request_id="1",
        )  # fmt: skip


def call(client: Client, endpoint: str, calls: int, *, status: int = 200, key: str = "") -> None:
    minute = int(NOW.timestamp()) // 60
    client_id = "" if key else client.client_id
    usage_counts.add_counts([UsageCount(client.project_id, key, client_id, endpoint, status, "", minute, 0, calls)])


def figures(browser: Browser, path: str) -> list[tuple[str, int, int, int]]:
    rows = browser.get(path).context["apis"].rows
    return [(row.api.slug, row.sign_ins, row.of, row.calls) for row in rows]


def test_sign_ins_and_calls_of_a_client_are_counted_by_api(
    as_viewer: Browser, owner: Account, project: Project, app: Client, calendar: Api
) -> None:
    sign_in(app, owner, "openid calendar.read calendar.write")
    sign_in(app, owner, "openid calendar.read account.read", 3 * DAY)
    sign_in(app, owner, "openid email")
    sign_in(app, owner, "openid calendar.read", 8 * DAY)
    other = make_client(project)
    sign_in(other, owner, "openid account.read")
    call(app, "calendar", 5)
    call(app, "calendar", 2, status=403)
    call(app, "me", 3)
    call(other, "calendar", 11)
    call(app, "calendar", 13, key="abcdefgh12345678")
    assert figures(as_viewer, address(app)) == [("account", 1, 3, 3), ("calendar", 2, 3, 7)]
    assert figures(as_viewer, address(app, "?range=30d")) == [("account", 1, 4, 3), ("calendar", 3, 4, 7)]
    assert figures(as_viewer, project_address(project)) == [("account", 2, 4, 3), ("calendar", 2, 4, 31)]


def test_links_lead_to_the_same_calls(as_viewer: Browser, app: Client, calendar: Api) -> None:
    call(app, "calendar", 7)
    call(app, "me", 2)
    page = BeautifulSoup(as_viewer.get(address(app)).content, "html.parser")
    table = page.select_one("[aria-labelledby=by-api]")
    assert table is not None
    assert "<b>Calendar</b>" in table.get_text()
    links = [str(link["href"]) for link in table.select("tbody a")]
    log_of_v1, usage, log = links
    assert as_viewer.get(usage).context["report"].total.calls == 7
    for link, slug in ((log_of_v1, "account"), (log, "calendar")):
        filters = as_viewer.get(link).context["filters"]
        assert not filters.errors
        assert f"api={slug}&" in link
        assert f"who={app.client_id}" in link


def test_the_table_is_left_out_without_another_api_or_numbers(as_viewer: Browser, owner: Account, app: Client) -> None:
    sign_in(app, owner, "openid account.read")
    call(app, "me", 2)
    assert as_viewer.get(address(app)).context["apis"] is None
    calendar = factories.make_api()
    assert b'id="by-api"' in as_viewer.get(address(app)).content
    assert b'id="by-api"' not in as_viewer.get(address(make_client(app.project))).content
    Api.objects.update(enabled=False)
    reload_registry()
    assert calendar.name.encode() not in as_viewer.get(address(app)).content
    assert as_viewer.get(address(app)).context["apis"] is None


def test_the_page_says_that_older_sign_ins_are_not_counted(
    as_viewer: Browser, owner: Account, app: Client, calendar: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        sign_in(app, owner, "openid calendar.read")
    assert "Of the newest" not in as_viewer.get(address(app)).content.decode()
    monkeypatch.setattr(apis, "MOST_SIGN_INS", 2)
    assert "Of the newest 2 sign-ins in the log." in as_viewer.get(address(app)).content.decode()
    assert figures(as_viewer, address(app))[1] == ("calendar", 2, 2, 0)


def test_unknown_scopes_count_for_no_api(as_viewer: Browser, owner: Account, app: Client, calendar: Api) -> None:
    sign_in(app, owner, "openid gone.read")
    sign_in(app, owner, "openid calendar.read")
    assert figures(as_viewer, address(app)) == [("account", 0, 2, 0), ("calendar", 1, 2, 0)]


def test_the_csv_file_has_the_same_figures(as_viewer: Browser, owner: Account, app: Client) -> None:
    factories.make_api(name="=Calendar")
    sign_in(app, owner, "openid calendar.read")
    call(app, "calendar", 7)
    for path, name in (
        (address(app, "?range=30d&table=apis&format=csv"), app.client_id),
        (project_address(app.project, "?range=30d&table=apis&format=csv"), app.project.public_id),
    ):
        title, rows = as_viewer.get(path)["Content-Disposition"], lines(as_viewer, path)
        assert title == f'attachment; filename="apis-{name}-30d-until-20261122T0000Z.csv"'
        assert [list(row.values()) for row in rows] == [
            ["account", "Openport account API", "0", "1", "0"],
            ["calendar", "'=Calendar", "1", "1", "7"],
        ]


@pytest.mark.parametrize(
    ("span", "days", "setting"), [("7d", 14, "SIGN_IN_HOUR_DAYS"), ("90d", 180, "SIGN_IN_COUNT_DAYS")]
)
def test_sign_ins_are_compared_only_with_counts_that_are_kept(
    span: str, days: int, setting: str, as_viewer: Browser, app: Client, settings: Any
) -> None:
    add(app, exchanged=100)
    add(app, DAY, exchanged=6)
    add(app, (days // 2 + 1) * DAY, exchanged=3)
    for kept, change in ((days, "+100 %"), (days - 1, "")):
        setattr(settings, setting, kept)
        report = as_viewer.get(address(app, f"?range={span}")).context["report"]
        assert (report.change, report.ends.compares) == (change, bool(change))


def test_the_link_leads_to_the_file(as_viewer: Browser, app: Client, calendar: Api) -> None:
    call(app, "calendar", 7)
    for path in (address(app, "?range=24h"), project_address(app.project, "?range=24h")):
        page = BeautifulSoup(as_viewer.get(path).content, "html.parser")
        link = page.select_one("[aria-labelledby=by-api] a[download]")
        assert link is not None
        url = urljoin(path, str(link["href"]))
        title, rows = as_viewer.get(url)["Content-Disposition"], lines(as_viewer, url)
        assert "-24h-" in title
        assert [row["requests"] for row in rows] == ["0", "7"]
