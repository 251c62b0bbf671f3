"""The sample app in examples/, run as its docstring says: with the credentials that the service's demo keeps."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from tests.clients.conftest import OWNER
from tests.clients.person import PASSWORD, Person
from tests.services import keeper
from tests.services.service import ROOT, Service

pytestmark = pytest.mark.slow
GUEST = "guest@example.com"


@pytest.fixture(scope="module")
def sample_app(live_service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The origin of the sample app, which runs."""
    origin = f"http://localhost:{keeper.free_port()}"
    client = {
        "name": "Sample",
        "type": "web",
        "redirect_uris": [f"{origin}/callback"],
        "post_logout_redirect_uris": [f"{origin}/"],
        "backchannel_logout_uri": f"{origin}/backchannel-logout",
        "events_url": f"{origin}/security-events",
    }
    declared = live_service.provision(
        people=[
            {"email": OWNER, "password": PASSWORD},
            {"email": GUEST, "password": PASSWORD, "given_name": "Guest <b>"},
        ],
        projects=[{"name": "Sample", "owner": OWNER, "clients": [client]}],
    )
    folder = tmp_path_factory.mktemp("sample")
    (folder / "demo.json").write_text(json.dumps(declared))
    with start({"DATA_DIR": str(folder)}) as process:
        assert process.stdout is not None
        assert origin in process.stdout.readline()
        yield origin
        process.terminate()


def start(settings: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "examples/web_app.py"],
        cwd=ROOT,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_sign_in_and_out(live_service: Service, sample_app: str) -> None:
    guest, browser = Person(live_service, GUEST), httpx.Client(base_url=sample_app, timeout=20)
    assert "Nobody is signed in" in browser.get("/").text
    back = guest.go(browser.post("/sign-in").headers["Location"])
    assert guest.asked == ["sign-in", "consent"]
    before = browser.cookies["sample_app"]
    assert browser.get(back).headers["Location"] == "/"
    assert browser.cookies["sample_app"] != before
    page = browser.get("/").text
    assert "Hello, Guest &lt;b&gt;" in page
    assert f"&quot;email&quot;: &quot;{GUEST}&quot;" in page
    assert "answers 200" in page

    leave = browser.post("/sign-out").headers["Location"]
    assert guest.go(leave).startswith(f"{sample_app}/?state=")
    assert "Nobody is signed in" in browser.get("/").text


def signed_in(service: Service, sample_app: str) -> tuple[Person, httpx.Client]:
    """Return a person who has signed in to the app, and their browser there."""
    guest, browser = Person(service, GUEST), httpx.Client(base_url=sample_app, timeout=20)
    browser.get(guest.go(browser.post("/sign-in").headers["Location"]))
    assert "Hello, Guest" in browser.get("/").text
    return guest, browser


def is_signed_out(browser: httpx.Client) -> bool:
    """Wait up to ten seconds until nobody is signed in to the app."""
    until = time.monotonic() + 10
    while "Nobody is signed in" not in browser.get("/").text:
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


def test_signing_out_of_the_service_ends_the_session_of_that_browser(live_service: Service, sample_app: str) -> None:
    guest, browser = signed_in(live_service, sample_app)
    _, elsewhere = signed_in(live_service, sample_app)
    guest.fill_in(guest.visit(f"{live_service.address}/connect/logout"), "csrfmiddlewaretoken", decision="sign-out")
    assert is_signed_out(browser)
    assert "Hello, Guest" in elsewhere.get("/").text


def test_removing_the_app_ends_all_sessions(live_service: Service, sample_app: str) -> None:
    guest, browser = signed_in(live_service, sample_app)
    _, elsewhere = signed_in(live_service, sample_app)
    listed = guest.visit(f"{live_service.address}/account/apps/").text
    (remove,) = set(re.findall(r"/account/apps/\d+/remove", listed))
    guest.fill_in(guest.visit(f"{live_service.address}{remove}"), "csrfmiddlewaretoken")
    assert is_signed_out(browser)
    assert is_signed_out(elsewhere)


@pytest.mark.parametrize("path", ["/backchannel-logout", "/security-events"])
def test_other_tokens_sign_nobody_out(live_service: Service, sample_app: str, path: str) -> None:
    _, browser = signed_in(live_service, sample_app)
    other = httpx.Client(base_url=sample_app, cookies=browser.cookies)
    leave = signed_in(live_service, sample_app)[1].post("/sign-out").headers["Location"]
    id_token = parse_qs(urlsplit(leave).query)["id_token_hint"][0]
    for token in (id_token, "garbage", "", id_token[:-4] + "AAAA"):
        body = urlencode({"logout_token": token}) if path == "/backchannel-logout" else token
        assert httpx.post(f"{sample_app}{path}", content=body).status_code == 400
    assert "Hello, Guest" in other.get("/").text


def test_errors_are_explained(live_service: Service, sample_app: str) -> None:
    browser = httpx.Client(base_url=sample_app, timeout=20)
    go = browser.post("/sign-in").headers["Location"]
    back = Person(live_service, GUEST, decision="cancel").go(f"{go}&prompt=consent")
    refused = browser.get(back)
    assert refused.status_code == 400
    assert "access_denied" in refused.text

    state = parse_qs(urlsplit(browser.post("/sign-in").headers["Location"]).query)["state"][0]
    assert "invalid_grant" in browser.get("/callback", params={"state": state, "code": "made-up"}).text
    browser.post("/sign-in")
    assert "does not belong to a sign-in that began in this browser" in browser.get("/callback?state=other&code=x").text
    assert "No sign-in has started" in httpx.get(f"{sample_app}/callback?state=other&code=x").text
    assert browser.get("/nowhere").status_code == 404


def test_without_a_service_the_message_says_what_to_do(tmp_path: Path) -> None:
    with start({"DATA_DIR": str(tmp_path)}) as process:
        said, _ = process.communicate(timeout=20)
    assert process.returncode != 0
    assert "make run" in said
    assert "DATA_DIR" in said


# --- Beside another one ---


@pytest.fixture
def registered(tmp_path: Path) -> dict[str, str]:
    """The environment of an app whose client is registered at a port that someone else has by now."""
    port = keeper.free_port()
    origin = f"http://localhost:{port}"
    client = {
        "type": "web",
        "client_id": "op_client_x",
        "client_secret": "a secret",
        "redirect_uris": [f"{origin}/callback"],
        "post_logout_redirect_uris": [f"{origin}/"],
    }
    demo = {"issuer": "http://localhost:1/", "base_url": "http://localhost:1", "projects": [{"clients": [client]}]}
    (tmp_path / "demo.json").write_text(json.dumps(demo))
    return {"DATA_DIR": str(tmp_path), "PORT_OF_CLIENT": str(port)}


def test_a_port_in_use_gives_a_clear_message(registered: dict[str, str]) -> None:
    port = int(registered["PORT_OF_CLIENT"])
    with socket.create_server(("127.0.0.1", port)), start(registered) as process:
        said, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert f"can't listen on port {port}: Address already in use" in said
    assert f"APP_PORT={port + 1}" in said
    assert f"redirect URL http://localhost:{port + 1}/callback, sign-out URL http://localhost:{port + 1}/." in said
    assert "op_client_x" in said
    assert "Traceback" not in said


def test_another_port_prints_the_redirect_uri_to_register(registered: dict[str, str]) -> None:
    port = keeper.free_port()
    with start(registered | {"APP_PORT": str(port)}) as process:
        assert process.stdout is not None
        said = process.stdout.readline() + process.stdout.readline()
        assert "Nobody is signed in" in httpx.get(f"http://localhost:{port}/").text
        process.terminate()
    assert f"redirect URL http://localhost:{port}/callback, sign-out URL http://localhost:{port}/\n" in said


@pytest.mark.parametrize("port", ["x", "0", "65536", "-1", "²"])
def test_an_invalid_port_gives_a_clear_message(registered: dict[str, str], port: str) -> None:
    with start(registered | {"APP_PORT": port}) as process:
        said, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "from 1 to 65535" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("missing", ["OIDC_ISSUER", "CLIENT_SECRET"])
def test_an_incomplete_env_file_gives_a_clear_message(missing: str) -> None:
    given = {"OIDC_ISSUER": "http://localhost:1/", "CLIENT_ID": "x", "CLIENT_SECRET": "y"} | {missing: ""}
    with start(given) as process:
        said, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert f"{missing} is not" in said


def test_it_reads_the_env_file_that_the_console_shows(live_service: Service, sample_app: str, tmp_path: Path) -> None:
    """OIDC_ISSUER, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, API_URL: devportal/console/rotation.py writes them."""
    port = keeper.free_port()
    lines = {
        "OIDC_ISSUER": live_service.issuer,
        "CLIENT_ID": "op_client_x",
        "CLIENT_SECRET": "y",
        "REDIRECT_URI": f"http://localhost:{port}/back",
        "API_URL": live_service.address,
        "DATA_DIR": str(tmp_path),
    }
    with start(lines) as process:
        assert process.stdout is not None
        assert f"http://localhost:{port}/" in process.stdout.readline()
        go = httpx.post(f"http://localhost:{port}/sign-in").headers["Location"]
        process.terminate()
    asked = parse_qs(urlsplit(go).query)
    assert live_service.owns(go)
    assert (asked["client_id"], asked["redirect_uri"]) == (["op_client_x"], [lines["REDIRECT_URI"]])
