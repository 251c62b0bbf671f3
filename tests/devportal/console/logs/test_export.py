"""Logs as CSV and JSON, the search for a text, and the sign-in log of a whole project."""

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client as Browser
from django.urls import reverse

from accounts.models import Account
from api import usage_counts
from api.models import RequestLog
from devportal.console.export import write_csv
from devportal.console.models import SignInEvent
from oidc.models import Project
from oidc.projects import lifecycle
from oidc.sign_in_log.steps import Outcome
from oidc.values.reasons import Reason
from tests.factories import make_client, make_project

AT = datetime(2026, 11, 21, 4, 30, 20, tzinfo=UTC)


@pytest.fixture
def filled(project: Project, owner: Account) -> Project:
    """Return a project with entries of two clients and an action of its owner, beside another project's entry."""
    for place, number in ((project, 1), (project, 2), (make_project(), 3)):
        client = make_client(place, name=f"=Client {number}")
        refused = {"outcome": Outcome.REFUSED, "error": "invalid_scope", "reason": Reason.SCOPE_WITHOUT_OPENID}
        uri = f"https://app{number}.example.com/callback"
        SignInEvent.objects.create(
            client=client, at=AT, endpoint="authorize", request_id=f"r{number}", redirect_uri=uri, **refused
        )
        values: dict[str, Any] = {"method": "GET", "path": "/v1/me", "status": 200 + number, "milliseconds": 3}
        RequestLog.objects.create(project=place, at=AT, request_id=f"c{number}", client=client.client_id, **values)
    lifecycle.rename_project(project, "Lunar Notes", owner)
    return project


def body(browser: Browser, url: str) -> str:
    response = browser.get(url)
    assert response.status_code == 200
    assert "attachment" in response["Content-Disposition"]
    return b"".join(response.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]


def rows(browser: Browser, url: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(body(browser, url))))


@pytest.mark.parametrize("page", ["project_sign_ins", "requests", "activity"])
def test_csv_and_json_have_the_same_rows(page: str, as_viewer: Browser, filled: Project) -> None:
    url = reverse(f"console:{page}", args=[filled.public_id])
    as_csv, as_json = rows(as_viewer, f"{url}?format=csv"), json.loads(body(as_viewer, f"{url}?format=json"))
    assert [row["time_utc"] for row in as_csv] == [row["time_utc"] for row in as_json]
    assert list(as_csv[0]) == list(as_json[0])
    assert as_csv


def test_a_downloaded_log_keeps_the_filters_and_the_project(as_viewer: Browser, filled: Project) -> None:
    log = reverse("console:project_sign_ins", args=[filled.public_id])
    assert {row["request_id"] for row in rows(as_viewer, f"{log}?format=csv")} == {"r1", "r2"}
    (row,) = rows(as_viewer, f"{log}?format=csv&q=APP2.")
    assert (row["request_id"], row["reason"]) == ("r2", "scope_without_openid")
    assert row["client"] == "'=Client 2", "a spreadsheet would calculate it"
    calls = reverse("console:requests", args=[filled.public_id])
    assert {row["request_id"] for row in rows(as_viewer, f"{calls}?format=csv&q=c1")} == {"c1"}


def test_the_log_of_a_project_names_the_client_of_each_entry(as_viewer: Browser, filled: Project) -> None:
    url = reverse("console:project_sign_ins", args=[filled.public_id])
    response = as_viewer.get(url)
    assert [line.row.request_id for line in response.context["lines"]] == ["r2", "r1"]
    client = filled.clients.get(name="=Client 1")
    entry = reverse("console:sign_in_detail", args=[filled.public_id, client.client_id, client.sign_ins.get().pk])
    assert entry in response.content.decode()
    only = as_viewer.get(url, {"client": client.client_id})
    assert [line.row.request_id for line in only.context["lines"]] == ["r1"]


def test_the_activity_is_searched_by_text_and_time(as_viewer: Browser, filled: Project) -> None:
    url = reverse("console:activity", args=[filled.public_id])
    assert [row["action"] for row in rows(as_viewer, f"{url}?format=csv&q=renamed")] == ["project.renamed"]
    assert rows(as_viewer, f"{url}?format=csv&to=2020-01-01T00:00") == []
    assert "No activity matches the filters." in as_viewer.get(f"{url}?q=nothing").content.decode()


def test_a_search_does_not_reveal_who_acted_for_the_service(as_viewer: Browser, filled: Project) -> None:
    url = reverse("console:activity", args=[filled.public_id])
    assert rows(as_viewer, f"{url}?format=csv&q=olga") == []


def test_texts_that_a_spreadsheet_would_calculate_are_escaped() -> None:
    texts = ["=1+1", "  @SUM(A1)", "\t=1", 'a;"=1+1"', "Web Notes"]
    lines = list(write_csv(["name", "count"], [[text, -1] for text in texts]))[1:]
    assert lines == ["'=1+1,-1\r\n", "'  @SUM(A1),-1\r\n", "'\t'=1,-1\r\n", '"a;""\'=1+1""",-1\r\n', "Web Notes,-1\r\n"]


def test_excel_recognizes_each_file_as_utf_8(as_viewer: Browser, filled: Project) -> None:
    for name, query in (
        ("project_sign_ins", "?format=csv"),
        ("requests", "?format=csv"),
        ("activity", "?format=csv"),
        ("usage", "?format=csv"),
        ("project_analytics", "?format=csv"),
        ("project_analytics", "?table=apis&format=csv"),
    ):
        response: Any = as_viewer.get(reverse(f"console:{name}", args=[filled.public_id]) + query)
        sent = b"".join(response.streaming_content)
        assert sent.startswith(b"\xef\xbb\xbf"), name
        assert sent.count(b"\xef\xbb\xbf") == 1, name
        assert all(line.endswith(b"\r") for line in sent.split(b"\n")[:-1]), name


# Spreadsheets of many countries separate cells by semicolons, whatever stands between commas.
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_text_that_anyone_sends_begins_no_cell_with_a_formula(
    separator: str, as_viewer: Browser, project: Project
) -> None:
    client = make_client(project)
    sent = "https://app.example.com/;=1+1; @SUM(A1)\t-1;\n+1;＝1"  # noqa: RUF001  (full-width)
    Browser().get("/connect/authorize", {"client_id": client.client_id, "redirect_uri": sent})
    usage_counts.flush_usage()
    assert client.sign_ins.get().redirect_uri.startswith("https://app.example.com/;=1+1;")
    log = body(as_viewer, f"{reverse('console:project_sign_ins', args=[project.public_id])}?format=csv")
    quoting: Any = csv.QUOTE_MINIMAL if separator == "," else csv.QUOTE_NONE
    cells = [cell for line in csv.reader(io.StringIO(log), delimiter=separator, quoting=quoting) for cell in line]
    assert not [cell for cell in cells if cell.strip(" ").startswith(("=", "+", "-", "@", "＝"))]  # noqa: RUF001  (full-width)
