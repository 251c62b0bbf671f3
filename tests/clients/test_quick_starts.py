"""The quick starts, run as their pages show them: the code is taken from the page and pasted into a terminal."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from playwright.sync_api import Page

from tests.clients.person import PASSWORD, Forms, Person
from tests.clients.quick_start import save, start
from tests.clients.terminal import Code, Shown, Terminal
from tests.services import keeper
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = pytest.mark.slow

GRACE, ADA = "grace.quick@example.com", "ada.quick@example.com"
SUGGESTED = "http://localhost:3000/callback"
TOOLS = [tool for tool in ("bash", "curl", "openssl", "sed") if shutil.which(tool) is None]


@dataclass
class Started:
    """A project with a client of each type, and the browser of its owner."""

    service: Service
    browser: httpx.Client
    project: str
    clients: dict[str, dict[str, Any]]
    key: str

    def blocks(self, kind: str, language: str) -> list[Shown]:
        """Return what the quick start of a client shows."""
        client_id = self.clients[kind]["client_id"]
        path = f"/console/p/{self.project}/clients/{client_id}/quick-start?language={language}"
        return self.shown(path)

    def shown(self, path: str) -> list[Shown]:
        page = self.browser.get(path)
        assert page.status_code == 200
        return Code(page.text).blocks


@pytest.fixture(scope="module")
def started(live_service: Service) -> Iterator[Started]:
    addresses = {
        "web": f"http://localhost:{keeper.free_port()}/callback",
        "spa": f"http://localhost:{keeper.free_port()}/",
        "native": f"http://127.0.0.1:{keeper.free_port()}/it's/$HOME",
        "reference": SUGGESTED,
    }
    clients = [
        {
            "name": f"Quick {name}",
            "type": "web" if name == "reference" else name,
            "redirect_uris": [address],
            "approved_scopes": ["account.read"],
        }
        for name, address in addresses.items()
    ]
    declared = live_service.provision(
        people=[
            {"email": GRACE, "password": PASSWORD, "given_name": "Grace"},
            {"email": ADA, "password": PASSWORD, "given_name": "Ada", "family_name": "Lovelace"},
        ],
        projects=[
            {
                "name": "Quick",
                "owner": GRACE,
                "clients": clients,
                "api_keys": [{"name": "Quick", "owner": GRACE, "permissions": ["account.read"]}],
            }
        ],
    )
    project = declared["projects"][0]
    with httpx.Client(base_url=live_service.address, follow_redirects=True, timeout=20) as browser:
        page = browser.get("/account/login/")
        form = next(form for form in Forms(page.text).found if "password" in form.fields)
        filled = form.fields | {"login": GRACE, "password": PASSWORD}
        browser.post(urljoin(str(page.url), form.action), data={name: value for name, value in filled.items() if name})
        found = dict(zip(addresses, project["clients"], strict=True))
        yield Started(live_service, browser, project["id"], found, project["api_keys"][0]["key"])


# --- curl ---


@pytest.mark.skipif(bool(TOOLS), reason=f"not on the PATH: {', '.join(TOOLS)}")
@pytest.mark.parametrize("kind", ["web", "spa", "native"])
def test_curl_from_the_sign_in_request_to_a_refresh(started: Started, kind: str, tmp_path: Path) -> None:
    client, ada = started.clients[kind], Person(started.service, ADA)
    commands = save(started.blocks(kind, "curl"), tmp_path)
    with Terminal(tmp_path) as terminal:
        answer, exchange, call, refresh = start(terminal, commands, client["client_secret"])
        url = terminal.expect(r"(?m)^(http\S+/connect/authorize\?\S+)$")[1]
        arrived_at = ada.go(url)
        assert arrived_at.startswith(f"{client['redirect_uris'][0]}?code=")
        terminal.type(answer)
        terminal.type(arrived_at)
        terminal.type(exchange)
        terminal.expect("state: correct")
        first = json.loads(terminal.expect(r"(?m)^\{.*\}$")[0])
        terminal.type(call)
        info = json.loads(terminal.expect(r"(?m)^\{.*\}$")[0])
        me = json.loads(terminal.expect(r"(?m)^\{.*\}$")[0])
        assert (me["id"], me["email"], me["name"]) == (info["sub"], ADA, "Ada Lovelace")
        terminal.type(refresh)
        second = json.loads(terminal.expect(r"(?m)^\{.*\}$")[0])
        assert second["refresh_token"] != first["refresh_token"]
        # It kept the newest: the same lines work again.
        terminal.type(refresh)
        assert "access_token" in json.loads(terminal.expect(r"(?m)^\{.*\}$")[0])


@pytest.mark.skipif(bool(TOOLS), reason=f"not on the PATH: {', '.join(TOOLS)}")
def test_curl_reports_an_answer_with_another_state(started: Started, tmp_path: Path) -> None:
    client = started.clients["native"]
    commands = save(started.blocks("native", "curl"), tmp_path)
    with Terminal(tmp_path) as terminal:
        answer, exchange, *_ = start(terminal, commands, client["client_secret"])
        terminal.type(answer)
        terminal.type(f"{client['redirect_uris'][0]}?code=made-up&state=another")
        terminal.type(exchange)
        terminal.expect("WRONG, stop here")
        assert "invalid_grant" in terminal.expect(r"(?m)^\{.*\}$")[0]


@pytest.mark.skipif(bool(TOOLS), reason=f"not on the PATH: {', '.join(TOOLS)}")
def test_the_call_with_an_api_key(started: Started, tmp_path: Path) -> None:
    with Terminal(tmp_path) as terminal:
        take, call, _answer = started.shown("/docs/quick-start/api-key")
        terminal.type(take.code)
        terminal.type(started.key)
        terminal.type(call.code)
        assert json.loads(terminal.expect(r"(?m)^\{.*\}$")[0])["email"] == GRACE


@pytest.mark.skipif(bool(TOOLS), reason=f"not on the PATH: {', '.join(TOOLS)}")
def test_the_requests_of_the_reference_pages(started: Started, tmp_path: Path) -> None:
    client, ada = started.clients["reference"], Person(started.service, ADA)
    assert client["redirect_uris"] == [SUGGESTED]
    request = started.shown("/docs/sign-in/authorization")[0].code.replace("YOUR_CLIENT_ID", client["client_id"])
    # The page's challenge is that of RFC 7636 appendix B.
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    wider = request.replace("scope=openid+email+profile", "scope=openid+email+profile+offline_access+account.read")
    code = re.findall(r"[?&]code=([^&]+)", ada.go(wider))[0]
    settings = {"CLIENT_ID": client["client_id"], "CLIENT_SECRET": client["client_secret"]}

    def answer(path: str, number: int, **variables: str) -> Any:
        command = started.shown(path)[number].code
        with Terminal(tmp_path, **settings, **variables) as terminal:
            terminal.type(f"{command}; echo")
            return json.loads(terminal.expect(r"(?ms)^\{.*\}$")[0])

    tokens = answer("/docs/sign-in/tokens", 0, CODE=code, VERIFIER=verifier)
    access = {"ACCESS_TOKEN": tokens["access_token"]}
    assert answer("/docs/sign-in/userinfo", 0, **access)["email"] == ADA
    assert answer("/docs/developer-api/me", 0, **access)["email"] == ADA
    assert answer("/docs/developer-api/plan", 0, **access)["plan_id"] == "free"
    newer = answer("/docs/sign-in/tokens", 1, REFRESH_TOKEN=tokens["refresh_token"])
    assert answer("/docs/sign-in/revocation", 0, REFRESH_TOKEN=newer["refresh_token"]) == {}
    assert answer("/docs/developer-api/me", 0, **access)["error"]["code"] == "invalid_token"
    assert answer("/docs/sign-in/discovery", 0)["issuer"] == started.service.issuer
    assert answer("/docs/sign-in/discovery", 1)["keys"]


# --- Python and JavaScript ---


def sign_in_at_the_app(started: Started, commands: list[str], folder: Path) -> None:
    """Run a web app, sign in where it says, and see that it knows who it was."""
    client, ada = started.clients["web"], Person(started.service, ADA)
    with Terminal(folder) as terminal:
        assert start(terminal, commands, client["client_secret"]) == []
        origin = terminal.expect(r"Open (http://localhost:\d+)/")[1]
        arrived_at = ada.go(f"{origin}/")
        assert httpx.get(arrived_at).status_code == 400, "another browser"
        assert ada.browser.get(arrived_at).text == "Hello, Ada Lovelace"
        said = terminal.expect(r"Signed in: (\S+)[\s\S]*ada\.quick@example\.com")
        assert len(said[1]) == 32
        assert ada.browser.get(arrived_at).status_code == 400, "a second time"
        assert ada.browser.get(f"{origin}/nowhere").status_code == 404
        ada.decision = "cancel"
        go = ada.browser.get(f"{origin}/").headers["Location"]
        assert ada.browser.get(ada.go(f"{go}&prompt=consent")).status_code == 400
        terminal.expect("Not signed in: access_denied")


def sign_in_from_the_terminal(started: Started, kind: str, commands: list[str], folder: Path) -> None:
    """Run an installed app, sign in in a browser, and see that it knows who it was."""
    client, ada = started.clients[kind], Person(started.service, ADA)
    with Terminal(folder) as terminal:
        assert start(terminal, commands, client["client_secret"]) == []
        go = terminal.expect(r"(http\S+/connect/authorize\?\S+)")[1]
        arrived_at = ada.go(go)
        redirect_uri = client["redirect_uris"][0]
        assert httpx.get(redirect_uri, params={"code": "x", "state": "another"}).status_code == 404
        assert "go back to the app" in httpx.get(arrived_at).text
        terminal.expect(r"Signed in: \w{32}[\s\S]*ada\.quick@example\.com")


def test_a_web_app_in_python(started: Started, tmp_path: Path) -> None:
    sign_in_at_the_app(started, save(started.blocks("web", "python"), tmp_path), tmp_path)


@pytest.mark.parametrize("kind", ["native", "spa"])
def test_an_installed_app_in_python(started: Started, kind: str, tmp_path: Path) -> None:
    sign_in_from_the_terminal(started, kind, save(started.blocks(kind, "python"), tmp_path), tmp_path)


@pytest.fixture
def node_folder(node_clients: Path, tmp_path: Path) -> Path:
    """A project of another kind, below which the reader begins; the libraries of the tests are installed there."""
    (tmp_path / "package.json").write_text('{"name": "another", "type": "commonjs"}')
    (tmp_path / "node_modules").symlink_to(node_clients / "node_modules")
    return tmp_path


@pytest.mark.node
def test_a_web_app_in_javascript(started: Started, node_folder: Path) -> None:
    sign_in_at_the_app(started, save(started.blocks("web", "javascript"), node_folder), node_folder)


@pytest.mark.node
def test_an_installed_app_in_javascript(started: Started, node_folder: Path) -> None:
    commands = save(started.blocks("native", "javascript"), node_folder)
    sign_in_from_the_terminal(started, "native", commands, node_folder)


@pytest.mark.node
@pytest.mark.browser
def test_a_browser_app_in_javascript(started: Started, node_folder: Path, browser: Chromium) -> None:
    commands = save(started.blocks("spa", "javascript"), node_folder)

    def steps(page: Page) -> str:
        page.goto(f"{origin}/")
        page.click("#sign-in")
        page.fill("input[name=login]", ADA)
        page.fill("input[name=password]", PASSWORD)
        page.click("button[type=submit]:has-text('Sign in')")
        page.wait_for_selector("button[value=allow], :text('Signed in:')")
        if page.query_selector("button[value=allow]"):
            page.click("button[value=allow]")
        page.wait_for_selector(":text('Signed in:')")
        assert "code=" not in page.url
        return page.inner_text("#me")

    with Terminal(node_folder) as terminal:
        assert start(terminal, commands, None) == []
        origin = terminal.expect(r"Open (http://localhost:\d+)/")[1]
        assert ADA in browser.visit(steps)
