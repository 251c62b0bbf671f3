"""The sample app in examples/, run as its docstring says: with the credentials that the service's demo keeps."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

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


def test_what_goes_wrong_is_said_plainly(live_service: Service, sample_app: str) -> None:
    browser = httpx.Client(base_url=sample_app, timeout=20)
    go = browser.post("/sign-in").headers["Location"]
    back = Person(live_service, GUEST, decision="cancel").go(f"{go}&prompt=consent")
    refused = browser.get(back)
    assert refused.status_code == 400
    assert "access_denied" in refused.text

    state = parse_qs(urlsplit(browser.post("/sign-in").headers["Location"]).query)["state"][0]
    assert "invalid_grant" in browser.get("/callback", params={"state": state, "code": "made-up"}).text
    browser.post("/sign-in")
    assert "no sign-in that was begun in this browser" in browser.get("/callback?state=other&code=x").text
    assert "No sign-in was begun" in httpx.get(f"{sample_app}/callback?state=other&code=x").text
    assert browser.get("/nowhere").status_code == 404


def test_without_a_service_it_says_what_to_do(tmp_path: Path) -> None:
    with start({"DATA_DIR": str(tmp_path)}) as process:
        said, _ = process.communicate(timeout=20)
    assert process.returncode != 0
    assert "make run" in said
