"""Each count of errors and each bar leads to the log, which shows exactly the entries that it counts."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from django.test import Client as Browser

from api import usage_counts
from api.models import RequestLog
from core import clock
from devportal.console.logs.links import sign_in_log
from devportal.console.models import SignInEvent
from oidc.models import Client, Project
from tests.api.calls import ME, PLAN, call
from tests.devportal.console.forms import at
from tests.factories import make_access_token, make_account, make_client, make_key, make_web_client
from tests.relying_party import RelyingParty, sign_in

# Half past ten, so that each range has several bars before now.
NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def at_half_past_ten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


def links(browser: Browser, url: str) -> list[Tag]:
    """Return the links of a page that lead to a log with filters."""
    soup = BeautifulSoup(browser.get(url).content, "html.parser")
    return [link for link in soup.select("main a[href]") if "entries of the" in str(link.get("aria-label")).lower()]


def entries(browser: Browser, link: Tag) -> list[dict[str, Any]]:
    """Return all entries of the log with the link's filters."""
    file = browser.get(f"{link['href']}&format=json")
    found: list[dict[str, Any]] = json.loads(b"".join(file))
    return found


def number_in(link: Tag) -> int:
    """Return the count that a link names: at the beginning, or for a bar the sum of its layers."""
    said = str(link["aria-label"])
    if "chart__link" not in str(link.get("class")):
        found = re.match(r"([\d,]+) ", said)
        assert found is not None, said
        return int(found[1].replace(",", ""))
    layers = said.partition(": ")[2].removesuffix(". Entries of the log").split(", ")
    return sum(int(layer.rpartition(" ")[2].replace(",", "")) for layer in layers)


def follow_all(browser: Browser, url: str, least: int) -> set[str]:
    """Check that each count leads to as many entries, and return the accessible names of the links."""
    found = [link for link in links(browser, url) if "%" not in str(link["aria-label"])]
    assert len(found) >= least, url
    counted: dict[str, int] = {}
    for link in found:
        href = str(link["href"])
        # A bar of the chart and a line of its table often lead to the same entries.
        if href not in counted:
            assert not browser.get(href).context["filters"].errors, link
            counted[href] = len(entries(browser, link))
        assert counted[href] == number_in(link), link
    return {str(link["aria-label"]) for link in found}


def make_calls(project: Project) -> tuple[str, Client]:
    """Make calls with a key and as an app, of which some are errors and one only names the key."""
    key, raw = make_key(project)
    app = make_client(project, name="Web Notes")
    token = make_access_token(app, make_account(), ["openid", "email"])
    for path, credential in (
        (ME, raw), (ME, raw), (PLAN, raw), ("/v1/nothing", raw), ("/v1/me/photo", raw),
        (ME, token), (PLAN, token), (PLAN, token),
        (ME, raw[:-1]),
    ):  # fmt: skip
        call(path, credential)
    call(ME, raw, "DELETE")
    usage_counts.flush_usage()
    assert RequestLog.objects.filter(is_counted=False).count() == 1
    # The same kind of calls at another time, which counts only in its own bar.
    rows = list(RequestLog.objects.filter(is_counted=True))
    for row in rows:
        row.pk, row.at = None, NOW - timedelta(hours=3)
    RequestLog.objects.bulk_create(rows)
    minute = int((NOW - timedelta(hours=3)).timestamp()) // 60
    usage_counts.add_counts(
        [
            usage_counts.UsageCount(
                project_id=project.pk,
                credential=row.credential,
                client=row.client,
                endpoint=_endpoint(row.path),
                status=row.status,
                code=row.code,
                minute=minute,
                latency=0,
                calls=1,
            )
            for row in rows
        ]
    )
    return key.public_id, app


def _endpoint(path: str) -> str:
    return path.removeprefix("/v1/") if path in (ME, PLAN) else "(none)"


@pytest.mark.parametrize("span", ["1h", "24h", "7d", "30d"])
def test_counts_of_usage_lead_to_their_calls(span: str, as_viewer: Browser, project: Project) -> None:
    key, app = make_calls(project)
    url = at("usage", project)
    names = follow_all(as_viewer, f"{url}?range={span}", 12)
    assert any("errors of /v1/me/plan" in name for name in names)
    assert any("errors of No such endpoint" in name for name in names)
    assert any("insufficient_scope" in name for name in names)
    assert any("errors of Web Notes" in name for name in names)
    if span != "24h":
        return
    for narrowed in (
        f"client={app.client_id}",
        f"key={key}",
        "endpoint=me",
        "endpoint=(none)",
        f"key={key}&endpoint=me",
    ):
        follow_all(as_viewer, f"{url}?range={span}&{narrowed}", 2)


def test_the_share_of_errors_leads_to_the_errors(as_viewer: Browser, project: Project) -> None:
    make_calls(project)
    errors = RequestLog.objects.filter(status__gte=400, is_counted=True).count()
    for url in (at("usage", project), "/console/"):
        (link,) = [link for link in links(as_viewer, url) if "%" in str(link["aria-label"])]
        assert link.get_text().replace("\xa0", " ") in str(link["aria-label"])
        assert len(entries(as_viewer, link)) == errors


def test_the_errors_of_the_overview_lead_to_them(as_viewer: Browser, project: Project) -> None:
    make_calls(project)
    errors = RequestLog.objects.filter(status__gte=400, is_counted=True).count()
    soup = BeautifulSoup(as_viewer.get(at("project", project)).content, "html.parser")
    (link,) = soup.select(".trend__errors a")
    assert link.get_text().split()[0] == str(errors)
    assert len(entries(as_viewer, link)) == errors


def test_rising_errors_lead_to_the_latest_ones(as_viewer: Browser, project: Project) -> None:
    _, raw = make_key(project)
    for _ in range(21):
        call("/v1/nothing", raw)
    usage_counts.flush_usage()
    soup = BeautifulSoup(as_viewer.get(at("project", project)).content, "html.parser")
    (link,) = [link for link in soup.select("main a") if "Errors are rising" in link.get_text()]
    assert len(entries(as_viewer, link)) == 21


def make_sign_ins(client: Client, secret: str) -> None:
    """Sign in, and have each kind of refusal."""
    browser = Browser()
    sign_in(browser, make_account())
    app = RelyingParty(client, browser, secret)
    code = app.code()
    app.exchange(code, client_secret="x")
    app.exchange(code, code_verifier="x" * 43)
    tokens = app.tokens()
    newest = app.refresh(tokens["refresh_token"]).json()["refresh_token"]
    app.refresh("nonsense")
    app.refresh(newest, client_secret="x")
    app.post("/connect/revoke", {"token": newest, **app.credentials()})
    app.post("/connect/revoke", {"token": "x", "client_id": client.client_id, "client_secret": "x"})
    app.authorize(prompt="none", nonce="x" * 5000)
    app.authorize(redirect_uri="https://elsewhere.example.com/")
    app.authorize(scope="email")
    page = app.authorize(prompt="consent")
    app.answer_consent(page, "cancel")
    page = app.authorize(prompt="consent")
    app.answer_consent(page)
    app.answer_consent(page)  # logged, but not counted again
    usage_counts.flush_usage()


def test_counts_of_sign_ins_lead_to_their_entries(as_viewer: Browser, project: Project) -> None:
    client, secret = make_web_client(project, name="Notes")
    make_sign_ins(client, secret)
    other, other_secret = make_web_client(project, name="Other")
    make_sign_ins(other, other_secret)
    assert SignInEvent.objects.filter(step="").exists()
    outcomes = set(SignInEvent.objects.values_list("outcome", flat=True))
    assert outcomes == {"issued", "signed_in", "refreshed", "revoked", "cancelled", "refused"}
    for span in ("24h", "7d", "30d", "90d"):
        names = follow_all(as_viewer, f"{at('client_analytics', project, client)}?range={span}", 12)
        for said in (
            "Signed in: entries",
            "refreshed: entries",
            "cancelled: access_denied",
            "refused: invalid_request",
        ):
            assert any(said in name for name in names), said
    names = follow_all(as_viewer, at("project_analytics", project), 15)
    assert any("refused in Notes" in name for name in names)


def test_bars_older_than_the_log_have_no_link(project: Project, settings: Any) -> None:
    log = sign_in_log(project)
    oldest = NOW - timedelta(days=settings.SIGN_IN_LOG_DAYS)
    assert log.url(oldest - timedelta(days=1), oldest) == ""
    assert log.url(oldest - timedelta(days=1), oldest + timedelta(hours=1)) != ""
