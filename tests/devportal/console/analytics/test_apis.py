"""The table by API: sign-ins that granted its scopes, its calls, and what the numbers do not count."""

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Account
from api import usage_counts
from api.usage_counts import UsageCount
from core import clock
from devportal.console.analytics import apis
from devportal.console.models import SignInEvent
from oidc.apis.registry import reload_registry
from oidc.models import Api, Client, Project, TokenFamily
from oidc.sign_in_log.steps import Endpoint, Outcome, Step
from tests import factories
from tests.factories import make_client

NOW = datetime(2026, 11, 21, 4, 30, 20, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def at_half_past_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def app(project: Project) -> Client:
    return make_client(project)


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


def address(client: Client, query: str = "", name: str = "client_analytics") -> str:
    return reverse(f"console:{name}", args=[client.project.public_id, client.client_id]) + query


def project_address(project: Project, query: str = "", name: str = "project_analytics") -> str:
    return reverse(f"console:{name}", args=[project.public_id]) + query


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


def test_ninety_days_link_to_the_longest_usage_page_and_say_so(as_viewer: Browser, app: Client, calendar: Api) -> None:
    call(app, "calendar", 7)
    page = as_viewer.get(address(app, "?range=90d")).content.decode()
    assert "Usage, last 30 days" in page
    assert "range=30d&amp;endpoint=calendar" in page


def test_the_table_is_left_out_without_another_api(as_viewer: Browser, owner: Account, app: Client) -> None:
    sign_in(app, owner, "openid account.read")
    call(app, "me", 2)
    assert as_viewer.get(address(app)).context["apis"] is None
    calendar = factories.make_api()
    assert b'id="by-api"' in as_viewer.get(address(app)).content
    Api.objects.update(enabled=False)
    reload_registry()
    assert calendar.name.encode() not in as_viewer.get(address(app)).content
    assert as_viewer.get(address(app)).context["apis"] is None


def test_the_table_is_left_out_without_sign_ins_and_calls(as_viewer: Browser, app: Client, calendar: Api) -> None:
    for path in (address(app), project_address(app.project)):
        assert b'id="by-api"' not in as_viewer.get(path).content


def test_the_page_says_that_older_sign_ins_are_not_counted(
    as_viewer: Browser, owner: Account, app: Client, calendar: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        sign_in(app, owner, "openid calendar.read")
    assert "The table counts 3 sign-ins" in as_viewer.get(address(app)).content.decode()
    monkeypatch.setattr(apis, "MOST_SIGN_INS", 2)
    assert "The table counts the newest 2 sign-ins" in as_viewer.get(address(app)).content.decode()
    assert figures(as_viewer, address(app))[1] == ("calendar", 2, 2, 0)


def test_unknown_scopes_count_for_no_api(as_viewer: Browser, owner: Account, app: Client, calendar: Api) -> None:
    sign_in(app, owner, "openid gone.read")
    sign_in(app, owner, "openid calendar.read")
    assert figures(as_viewer, address(app)) == [("account", 0, 2, 0), ("calendar", 1, 2, 0)]


def test_the_table_takes_three_statements(as_viewer: Browser, owner: Account, app: Client, calendar: Api) -> None:
    for number in range(20):
        sign_in(app, owner, "openid calendar.read", number * timedelta(hours=1))
    call(app, "calendar", 7)
    taken = {}
    for enabled in (True, False):
        Api.objects.update(enabled=enabled)
        reload_registry()
        as_viewer.get(address(app))
        with CaptureQueriesContext(connection) as queries:
            as_viewer.get(address(app))
        taken[enabled] = len(queries)
    assert taken[True] - taken[False] == 3
    assert taken[True] <= 12


# --- CSV ---


def lines(browser: Browser, path: str) -> tuple[str, list[dict[str, str]]]:
    response: Any = browser.get(path)
    assert response["Content-Type"].startswith("text/csv")
    return response["Content-Disposition"], list(
        csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode("utf-8-sig")))
    )


def test_the_csv_file_has_the_same_figures(as_viewer: Browser, owner: Account, app: Client) -> None:
    factories.make_api(name="=Calendar")
    sign_in(app, owner, "openid calendar.read")
    call(app, "calendar", 7)
    for path, name in (
        (address(app, "?range=30d&table=apis", "client_analytics_csv"), app.client_id),
        (project_address(app.project, "?range=30d&table=apis", "project_analytics_csv"), app.project.public_id),
    ):
        title, rows = lines(as_viewer, path)
        assert title == f'attachment; filename="apis-{name}-30d-until-20261122T0000Z.csv"'
        assert [list(row.values()) for row in rows] == [
            ["account", "Openport account API", "0", "1", "0"],
            ["calendar", "'=Calendar", "1", "1", "7"],
        ]


def test_the_link_leads_to_the_file(as_viewer: Browser, app: Client, calendar: Api) -> None:
    call(app, "calendar", 7)
    for path in (address(app, "?range=24h"), project_address(app.project, "?range=24h")):
        page = BeautifulSoup(as_viewer.get(path).content, "html.parser")
        link = page.select_one("[aria-labelledby=by-api] a[download]")
        assert link is not None
        title, rows = lines(as_viewer, str(link["href"]))
        assert "-24h-" in title
        assert [row["calls"] for row in rows] == ["0", "7"]


def test_the_file_is_empty_without_another_api(as_viewer: Browser, app: Client) -> None:
    assert lines(as_viewer, address(app, "?table=apis", "client_analytics_csv"))[1] == []
