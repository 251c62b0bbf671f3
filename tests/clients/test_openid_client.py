"""Node's openid-client: web apps by both ways of authenticating, and an installed app on a loopback port."""

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.app import App
from tests.clients.conftest import ADA, Apps
from tests.clients.person import Person
from tests.services.service import Service

pytestmark = pytest.mark.node
END_SECONDS = 30


def run(folder: Path, service: Service, app: App, method: str, person: Person) -> dict[str, Any]:
    """Have the app sign `person` in, and return what it found."""
    settings = {
        "issuer": service.issuer,
        "client_id": app.client_id,
        "client_secret": app.client_secret,
        "method": method,
        "redirect_uri": app.redirect_uri,
        "signed_out_uri": app.signed_out_uri,
    }
    with subprocess.Popen(
        ["node", "openid_client.mjs", json.dumps(settings)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as node:
        try:
            assert node.stdout is not None
            first = node.stdout.readline()
            assert first, node.communicate(timeout=END_SECONDS)[1]
            arrived_at = person.go(json.loads(first)["go"])
            if method == "none":
                assert "go back to the app" in httpx.get(arrived_at, timeout=20).text
            out, errors = node.communicate(f"{arrived_at}\n", timeout=END_SECONDS)
        finally:
            node.kill()
    assert node.returncode == 0, errors
    found: dict[str, Any] = json.loads(out)
    return found


def check(found: dict[str, Any], app: App, person: Person) -> None:
    """Check what an app found, from its ID token to the end of its tokens; then sign out through its link."""
    claims = found["claims"]
    assert claims["aud"] == app.client_id
    assert claims["email"] == ADA
    assert found["info"]["sub"] == found["me"]["id"] == found["refreshed"]["sub"] == claims["sub"]
    assert found["refreshed"]["auth_time"] == claims["auth_time"]
    assert found["rotated"]
    assert (found["refused_old"], found["refused_revoked"]) == ("invalid_grant", "invalid_grant")
    assert found["refused_access"] is not None
    assert person.go(found["sign_out"]) == f"{app.signed_out_uri}?state=left-here"


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_web_app_goes_all_the_way(live_service: Service, apps: Apps, node_clients: Path, method: str) -> None:
    ada = Person(live_service, ADA)
    found = run(node_clients, live_service, apps.web, method, ada)
    assert ada.asked == ["sign-in", "consent"]
    check(found, apps.web, ada)


def test_an_installed_app_goes_all_the_way_on_a_loopback_port(
    live_service: Service, apps: Apps, node_clients: Path
) -> None:
    ada = Person(live_service, ADA)
    assert apps.native.redirect_uri.startswith("http://127.0.0.1:")
    check(run(node_clients, live_service, apps.native, "none", ada), apps.native, ada)
