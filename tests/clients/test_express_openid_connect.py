"""Node's express-openid-connect as a receiver of logout tokens."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.app import App
from tests.clients.conftest import OWNER
from tests.clients.ended_sessions import check_sessions_end
from tests.clients.person import PASSWORD, Person
from tests.services import keeper
from tests.services.service import Service

pytestmark = pytest.mark.node
EVE = "eve.express@example.com"


def test_sessions_end_with_those_at_the_service(live_service: Service, node_clients: Path) -> None:
    app = App(live_service, f"http://localhost:{keeper.free_port()}", "Express")
    declaration = app.declaration(backchannel_logout_uri=f"{app.origin}/backchannel-logout")
    person = {"email": EVE, "password": PASSWORD, "given_name": "Ada", "family_name": "Lovelace"}
    owner = {"email": OWNER, "password": PASSWORD, "given_name": "Grace"}
    declared = live_service.provision(
        people=[person, owner], projects=[{"name": "Express", "owner": OWNER, "clients": [declaration]}]
    )
    app.take_credentials(declared)
    ada = Person(live_service, EVE)

    def sign_in() -> None:
        leaving = ada.browser.get(f"{app.origin}/login")
        ada.browser.get(ada.go(leaving.headers["Location"]))

    settings = {name: getattr(app, name) for name in ("origin", "client_id", "client_secret")}
    command = ["node", "express_openid_connect.mjs", json.dumps(settings | {"issuer": live_service.issuer})]
    with subprocess.Popen(command, cwd=node_clients, stdout=subprocess.PIPE, text=True) as node:
        try:
            assert node.stdout is not None
            assert node.stdout.readline() == "ready\n"
            check_sessions_end(live_service, app.client_id, ada, sign_in, f"{app.origin}/")
        finally:
            node.kill()
