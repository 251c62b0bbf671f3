"""The sample API in examples/, and the sample app that calls it: with the credentials that the demo keeps."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.conftest import OWNER
from tests.clients.person import PASSWORD, Person
from tests.clients.test_web_app_example import start as start_app
from tests.services import keeper
from tests.services.service import ROOT, Service, running

pytestmark = pytest.mark.slow
GUEST = "calendar-guest@example.com"
KNOWN_SECONDS = 30
TITLES = {"calendar.read": "See your events", "calendar.write": "Change your events"}


@dataclass
class Demo:
    """A running API and a running app, with what was declared."""

    service: Service
    api: str
    app: str
    folder: Path
    declared: dict[str, Any]
    serving: "subprocess.Popen[str]"


def start(settings: dict[str, str]) -> "subprocess.Popen[str]":
    """Run the API with the isolated standard library alone: it needs no package."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "examples/calendar_api.py"],
        cwd=ROOT,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_until_known(service: Service, declared: dict[str, Any]) -> None:
    """Wait until the running service knows the API, which another process has declared (docs/apis.md)."""
    credential = declared["apis"][0]["credential"]
    sent = {"token": declared["projects"][0]["api_keys"][0]["key"]}
    pair = (credential["id"], credential["secret"])
    end = time.monotonic() + KNOWN_SECONDS
    while not httpx.post(f"{service.address}/connect/introspect", auth=pair, data=sent).json().get("active"):
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """A service without other APIs: those of other tests have the same names."""
    with running() as service:
        yield service


@pytest.fixture(scope="module")
def demo(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    api, app = (f"http://localhost:{keeper.free_port()}" for _ in range(2))
    client = {
        "name": "Calendar app",
        "type": "web",
        "redirect_uris": [f"{app}/callback"],
        "post_logout_redirect_uris": [f"{app}/"],
        "approved_scopes": ["calendar.write"],
    }
    key = {"name": "Nightly", "owner": OWNER, "permissions": ["calendar.read"]}
    scopes = [{"name": name, "title": title} for name, title in TITLES.items()]
    scopes[1]["sensitive"] = True  # type: ignore[assignment]
    declared = service.provision(
        people=[{"email": OWNER, "password": PASSWORD}, {"email": GUEST, "password": PASSWORD, "given_name": "Guest"}],
        apis=[{"slug": "calendar", "name": "Orbit Calendar", "identifier": api, "scopes": scopes}],
        projects=[{"name": "Calendars", "owner": OWNER, "clients": [client], "api_keys": [key]}],
    )
    wait_until_known(service, declared)
    folder = tmp_path_factory.mktemp("calendar")
    (folder / "demo.json").write_text(json.dumps(declared))
    with start({"DATA_DIR": str(folder)}) as serving, start_app({"DATA_DIR": str(folder)}) as running:
        for process, origin in ((serving, api), (running, app)):
            assert process.stdout is not None
            assert origin in process.stdout.readline()
        yield Demo(service, api, app, folder, declared, serving)
        serving.terminate()
        running.terminate()


def test_the_app_lists_and_adds_events_until_it_is_removed(demo: Demo) -> None:
    guest, browser = Person(demo.service, GUEST), httpx.Client(base_url=demo.app, timeout=20)
    back = guest.go(browser.post("/sign-in").headers["Location"])
    assert browser.get(back).headers["Location"] == "/"
    page = browser.get("/").text
    assert "answers 200" in page, "the token for the developer API"
    assert "There is no event yet" in page
    added = browser.post("/events", data={"day": "2031-12-24", "title": "Dinner <b>"})
    assert added.headers["Location"] == "/"
    assert "<li>2031-12-24 Dinner &lt;b&gt;</li>" in browser.get("/").text
    refused = browser.post("/events", data={"day": "tomorrow", "title": "Dinner"})
    assert refused.status_code == 400
    assert "day must be a date" in refused.text

    (number,) = set(re.findall(r"/account/apps/([0-9]+)/remove", guest.browser.get("/account/apps/").text))
    confirm = guest.browser.get(f"/account/apps/{number}/remove")
    assert guest.fill_in(confirm, "csrfmiddlewaretoken").has_redirect_location
    assert "It answers 401" in browser.get("/").text


def test_keys_are_accepted_within_their_permissions(demo: Demo) -> None:
    header = {"Authorization": f"Bearer {demo.declared['projects'][0]['api_keys'][0]['key']}"}
    assert httpx.get(f"{demo.api}/events", headers=header).json() == {"events": []}
    refused = httpx.post(f"{demo.api}/events", headers=header, json={"title": "x", "day": "2031-01-01"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "insufficient_scope")
    assert 'scope="openid calendar.write"' in refused.headers["WWW-Authenticate"]


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer x y", "Bearer \xff", "Basic eDp5", "Bearer ..", "Bearer " + "a" * 5000]
)
def test_anything_else_is_refused(demo: Demo, header: str) -> None:
    answer = httpx.get(f"{demo.api}/events", headers=[(b"Authorization", header.encode("latin-1"))])
    assert answer.status_code == 401
    document = f"{demo.api}/.well-known/oauth-protected-resource"
    assert f'resource_metadata="{document}"' in answer.headers["WWW-Authenticate"]
    described = httpx.get(document).json()
    assert described["resource"] == demo.api
    assert described["authorization_servers"] == [demo.service.issuer]


@pytest.mark.parametrize(
    "body", [b"", b"x", b"[]", b"{}", b'{"title": 7, "day": "2031-01-01"}', b'{"title": "x", "day": 7}', b"[" * 9000]
)
def test_malformed_calls_are_refused(demo: Demo, body: bytes) -> None:
    header = {"Authorization": "Bearer x"}
    assert httpx.post(f"{demo.api}/events", headers=header, content=body).status_code == 401
    assert httpx.post(f"{demo.api}/nowhere", headers=header, content=body).status_code == 404
    assert httpx.post(f"{demo.api}/events", headers=header, content=b"x" * 10_001).status_code == 413


def test_without_a_service_it_says_so_and_stays_closed(demo: Demo) -> None:
    credential = {"API_CREDENTIAL_ID": "api_x", "API_CREDENTIAL_SECRET": "y", "API_IDENTIFIER": "http://localhost:1"}
    port = keeper.free_port()
    for issuer in ("http://localhost:1/", demo.service.issuer):  # no service, and one that refuses the credential
        with start(credential | {"OIDC_ISSUER": issuer, "API_PORT": str(port)}) as process:
            assert process.stdout is not None
            assert str(port) in process.stdout.readline()
            answer = httpx.get(f"http://localhost:{port}/events", headers={"Authorization": "Bearer x"})
            process.terminate()
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"DATA_DIR": "/nowhere"}, "make run"),
        ({"API_CREDENTIAL_ID": "x"}, "OIDC_ISSUER, API_IDENTIFIER, API_CREDENTIAL_SECRET is not"),
    ],
)
def test_missing_settings_are_named(given: dict[str, str], said: str) -> None:
    with start(given) as process:
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert said in output
    assert "Traceback" not in output


def test_a_demo_without_the_api_and_a_port_in_use_are_explained(demo: Demo, tmp_path: Path) -> None:
    (tmp_path / "demo.json").write_text(json.dumps(demo.declared | {"apis": []}))
    with start({"DATA_DIR": str(tmp_path)}) as process:
        output, _ = process.communicate(timeout=20)
    assert "no credential of the API calendar" in output
    port = keeper.free_port()
    with (
        socket.create_server(("127.0.0.1", port)),
        start({"DATA_DIR": str(demo.folder), "API_PORT": str(port)}) as process,
    ):
        output, _ = process.communicate(timeout=20)
    assert f"can't listen on port {port}" in output
    for wrong in ("x", "0", "65536", "²"):
        with start({"DATA_DIR": str(demo.folder), "API_PORT": wrong}) as process:
            output, _ = process.communicate(timeout=20)
        assert "from 1 to 65535" in output


def test_without_the_api_the_app_says_how_to_start_it(demo: Demo) -> None:
    """The last test of this module: it ends the API."""
    guest, browser = Person(demo.service, GUEST), httpx.Client(base_url=demo.app, timeout=20)
    browser.get(guest.go(browser.post("/sign-in").headers["Location"]))
    demo.serving.terminate()
    demo.serving.wait()
    page = browser.get("/")
    assert page.status_code == 200
    assert "Start it with <code>make api</code>" in page.text
    assert browser.post("/events", data={"day": "2031-12-24", "title": "x"}).status_code == 502
