"""One running service for all journeys, and a reviewed app that waits at its redirect URL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.app import App, listening
from tests.clients.person import PASSWORD
from tests.services.service import Service, running

OWNER = "owner@example.com"
# Each of these people already has an account, and belongs to one test.
KEYBOARD, FORGETFUL, HASTY = (f"{name}@example.com" for name in ("kay", "otto", "hans"))


@pytest.fixture(scope="session")
def live_service() -> Iterator[Service]:
    """A running service in which an app that is not reviewed is full with one person."""
    with running(UNVERIFIED_APP_PEOPLE="1") as service:
        yield service


@pytest.fixture(scope="session")
def registered_app(live_service: Service) -> Iterator[App]:
    with listening(live_service, "Orbit Notes") as app:
        app.take_credentials(
            live_service.provision(
                people=[
                    {"email": email, "password": PASSWORD, "given_name": email.partition("@")[0].title()}
                    for email in (OWNER, KEYBOARD, FORGETFUL, HASTY)
                ],
                projects=[{"name": "Orbit Notes", "owner": OWNER, "clients": [app.declaration(verified=True)]}],
            )
        )
        yield app


@pytest.fixture(scope="session")
def axe(node_clients: Path) -> str:
    """The source of axe-core, which checks the accessibility of pages."""
    return (node_clients / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.fixture
def app(registered_app: App) -> App:
    """The app, without responses from earlier tests."""
    while not registered_app.answers.empty():
        registered_app.answers.get()
    return registered_app
