"""/docs/api/: works from the service's own files, under the policy of all pages."""

import json
import re
from collections.abc import Iterator

import pytest
from django.test import Client as Browser
from playwright.sync_api import Page

from tests.browser.watch import Watch
from tests.services.chromium import Chromium
from tests.services.service import Service, running

PATH = "/docs/api/"


def test_nothing_is_inline_and_nothing_from_elsewhere(client: Browser, db: None) -> None:
    page = client.get(PATH)
    html = page.content.decode()
    assert page.status_code == 200
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", html, re.IGNORECASE)
    assert all(re.search(r"\ssrc=", tag) for tag in re.findall(r"<script[^>]*>", html))
    assert re.findall(r"<script[^>]*>(?!</script>)", html) == []
    addresses = re.findall(r"(?:src|href)=\"([^\"]*)\"", html)
    assert len(addresses) >= 4
    assert all(address.startswith("/") and not address.startswith("//") for address in addresses)
    assert "'unsafe" not in page["Content-Security-Policy"]


def test_its_script_names_our_document_only(client: Browser, db: None) -> None:
    script = client.get(f"{PATH}?script=")
    assert script["Content-Type"].startswith("application/javascript")
    assert "/v1/openapi.json" in script.content.decode()


@pytest.mark.parametrize(
    "query", ["script=&lang=%0a", "lang=%22%3E%3Cscript%3E", "script=%00", "lang=%ff", "script=x&y=%27"]
)
def test_an_odd_query_harms_nothing(query: str, client: Browser, db: None) -> None:
    response = client.get(f"{PATH}?{query}")
    assert response.status_code in (200, 400)
    assert '"><script>' not in response.content.decode()


@pytest.fixture(scope="module")
def live() -> Iterator[Service]:
    with running() as service:
        yield service


@pytest.mark.browser
@pytest.mark.slow
def test_a_developer_tries_a_key(live: Service, browser: Chromium) -> None:
    owner = {"email": "ada@example.com", "password": "correct horse 9 battery", "given_name": "Ada"}
    keys = [{"name": "Script", "owner": owner["email"], "permissions": ["account.read"]}]
    declared = live.provision(people=[owner], projects=[{"name": "P", "owner": owner["email"], "api_keys": keys}])
    key = declared["projects"][0]["api_keys"][0]["key"]

    def steps(page: Page) -> tuple[list[str], list[str], str]:
        watch = Watch(page.context)
        loaded: list[str] = []
        page.on("request", lambda request: loaded.append(request.url))
        page.goto(f"{live.address}{PATH}")
        page.get_by_role("button", name="Authorize").click()
        page.get_by_label("Value").fill(key)
        dialog = page.locator(".modal-ux")
        dialog.get_by_role("button", name="Apply credentials").click()
        dialog.get_by_role("button", name="Close").first.click()
        page.locator("#operations-me-read_me button").first.click()
        page.get_by_role("button", name="Try it out").click()
        page.get_by_role("button", name="Execute").click()
        answer = page.locator(".live-responses-table .response-col_description code").first
        answer.wait_for(timeout=20_000)
        return watch.faults, loaded, answer.inner_text()

    faults, loaded, text = browser.visit(steps)
    assert faults == []
    assert {address.split("/")[2] for address in loaded if address.startswith("http")} == {live.address.split("/")[2]}
    assert any(address.startswith("http") and "/v1/me" in address for address in loaded)
    assert json.loads(text)["email"] == "ada@example.com"
