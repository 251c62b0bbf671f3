"""The causes that end a person’s session at the service, and with it their session at an app."""

import contextlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import psycopg

from tests.clients.person import Forms, Person
from tests.services.service import Service

DELIVERY_SECONDS = 20
DELIVERIES = (
    "SELECT oidc_delivery.state, oidc_delivery.tries, oidc_delivery.answer FROM oidc_delivery"
    " JOIN oidc_eventreceiver ON oidc_eventreceiver.id = oidc_delivery.receiver_id"
    " JOIN oidc_client ON oidc_client.id = oidc_eventreceiver.client_id"
    " WHERE oidc_delivery.event = {0} AND oidc_client.client_id = {0}"
)


def sign_out(person: Person) -> None:
    """Sign out at the service itself, without a request of an app."""
    _press(person, "/connect/logout", "/connect/logout/confirm", decision="sign-out")


def sign_out_everywhere_else(person: Person) -> None:
    """Sign out of all other browsers from a second browser, which ends the person's session."""
    _press(Person(person.service, person.email), "/account/sessions/", "/account/sessions/")


def remove_app(person: Person) -> None:
    """Remove the person's only app, under Connected apps."""
    listed = person.visit(f"{_address(person)}/account/apps/")
    path = re.search(r'href="([^"]*/account/apps/\d+/remove)"', listed.text)
    assert path, listed.text[:3000]
    removal = httpx.URL(str(listed.url)).join(path[1]).path
    _press(person, removal, removal)


CAUSES: tuple[Callable[[Person], None], ...] = (sign_out, sign_out_everywhere_else, remove_app)


def check_sessions_end(
    service: Service, client_id: str, person: Person, sign_in: Callable[[], object], home: str
) -> None:
    """Check for each cause that the app's page `home` greets Ada after `sign_in`, but no longer after the cause.

    Only a logout token that the app has accepted can have ended its session.
    """
    for cause in CAUSES:
        sign_in()
        assert "Hello, Ada" in person.browser.get(home, follow_redirects=True).text
        with delivered(service, client_id, "logout"):
            assert "Hello, Ada" in person.browser.get(home).text, "the session continues until the service ends it"
            cause(person)
        assert "Hello, Ada" not in person.browser.get(home).text, cause.__name__


@contextlib.contextmanager
def delivered(service: Service, client_id: str, event: str) -> Iterator[None]:
    """Wait until the app has accepted all deliveries of an event that the block causes, at least one."""
    before = len(_deliveries(service, client_id, event))
    yield
    deadline = time.monotonic() + DELIVERY_SECONDS
    while len(rows := _deliveries(service, client_id, event)) == before or {row[0] for row in rows} != {"delivered"}:
        assert time.monotonic() < deadline, f"{event}: {rows}\n{service.logged()[-3000:]}"
        time.sleep(0.05)


def _deliveries(service: Service, client_id: str, event: str) -> list[tuple[Any, ...]]:
    """Return the state, the tries and the response of each delivery of an event."""
    address = service.settings.get("DATABASE_URL")
    if address:
        with psycopg.connect(address) as postgres:
            return postgres.execute(DELIVERIES.format("%s").encode(), [event, client_id]).fetchall()
    file = next(service.home.glob("*.sqlite3"))
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as sqlite:
        return sqlite.execute(DELIVERIES.format("?"), [event, client_id]).fetchall()


def _press(person: Person, path: str, action: str, **fields: str) -> None:
    page = person.visit(f"{_address(person)}{path}")
    forms = Forms(page.text).found
    form = next((form for form in forms if urlsplit(urljoin(str(page.url), form.action)).path == action), None)
    assert form is not None, page.text[:3000]
    origin = {"Origin": _address(person)}
    done = person.browser.post(f"{_address(person)}{action}", data=form.fields | fields, headers=origin)
    assert done.status_code == 302, done.text[:3000]


def _address(person: Person) -> str:
    assert isinstance(person.service, Service)
    return person.service.address
