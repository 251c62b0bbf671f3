"""One running service for all client libraries, the people who sign in there, and the apps they sign in to."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.clients.app import App, listening
from tests.clients.person import PASSWORD
from tests.services import keeper
from tests.services.service import Service, live_service

__all__ = ["live_service"]  # a fixture, found here by name

ADA = "ada@example.com"
OWNER = "owner@example.com"


@dataclass
class Apps:
    """The registered apps. `web` and `native` belong to one project. The email is an optional scope of `modest`."""

    web: App
    native: App
    modest: App


@pytest.fixture(scope="session")
def apps(live_service: Service) -> Iterator[Apps]:
    with contextlib.ExitStack() as open_apps:
        web = open_apps.enter_context(listening(live_service, "Orbit Web"))
        modest = open_apps.enter_context(listening(live_service, "Modest Web"))
        # The app itself listens when it runs.
        native = App(live_service, f"http://127.0.0.1:{keeper.free_port()}", "Orbit Desktop", "native")
        declared = live_service.provision(
            people=[
                {"email": ADA, "password": PASSWORD, "given_name": "Ada", "family_name": "Lovelace"},
                {"email": OWNER, "password": PASSWORD, "given_name": "Grace"},
            ],
            projects=[
                {"name": "Orbit", "owner": OWNER, "clients": [web.declaration(), native.declaration()]},
                {"name": "Modest", "owner": OWNER, "clients": [modest.declaration(optional_scopes=["email"])]},
            ],
        )
        for app in (web, native, modest):
            app.take_credentials(declared)
        yield Apps(web, native, modest)
