"""Events to apps in the embedded environment: threads of the web server send them, also after a restart."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlencode

import pytest

from core.credentials import random_text
from tests import inbox
from tests.clients.person import PASSWORD, Person
from tests.inbox import Inbox, never
from tests.relying_party import challenge_of
from tests.services.service import Service, fresh

pytestmark = [
    pytest.mark.slow,  # the service is started twice, and threads wait for an app that hangs
    pytest.mark.skipif(os.environ.get("TEST_ENGINE") == "postgres", reason="about SQLite and its one writer"),
]

PEOPLE = 5
SECONDS = 40
CALLBACK = "http://localhost:9/callback"


@pytest.fixture
def inboxes() -> Iterator[tuple[Inbox, Inbox]]:
    with inbox.serve() as first, inbox.serve() as second:
        yield first, second


@pytest.fixture
def service() -> Iterator[Service]:
    with fresh() as made:
        made.start()
        yield made


def declare(service: Service, *inboxes: Inbox) -> list[str]:
    """Declare people and an app for each inbox; return the client ids."""
    clients = [
        {
            "name": f"App {number}",
            "type": "spa",
            "redirect_uris": [CALLBACK],
            "backchannel_logout_uri": each.url("/logout"),
        }
        for number, each in enumerate(inboxes)
    ]
    declared = service.provision(
        people=[{"email": f"p{number}@example.com", "password": PASSWORD} for number in range(PEOPLE)],
        projects=[{"name": "Apps", "owner": "p0@example.com", "clients": clients}],
    )
    return [client["client_id"] for client in declared["projects"][0]["clients"]]


def sign_in(service: Service, number: int, client_ids: list[str]) -> Person:
    person = Person(service, f"p{number}@example.com")
    for client_id in client_ids:
        request = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": CALLBACK,
            "scope": "openid",
            "state": "s",
            "code_challenge": challenge_of(random_text(64)),
            "code_challenge_method": "S256",
        }
        assert "code=" in person.go(f"{service.address}/connect/authorize?{urlencode(request)}")
    return person


def sign_out(person: Person) -> None:
    page = person.browser.get("/connect/logout", follow_redirects=True)
    assert person._answer(page).status_code < 400


def wait_until(what: Callable[[], bool], why: str, seconds: float = SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, why
        time.sleep(0.05)


def test_sign_outs_at_once_reach_apps_although_one_hangs(service: Service, inboxes: tuple[Inbox, Inbox]) -> None:
    good, hanging = inboxes
    hanging.answer = never
    client_ids = declare(service, good, hanging)
    people = [sign_in(service, number, client_ids) for number in range(PEOPLE)]
    threads = [threading.Thread(target=sign_out, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    wait_until(lambda: len(good.received) == PEOPLE, "an app waits for another one")
    assert len(_jtis(good)) == PEOPLE
    wait_until(lambda: bool(hanging.received), "the other one got nothing")

    # A try is under way, and others wait: the service stops as fast as ever, and sends them after its next start.
    began = time.monotonic()
    assert service.stop() == 0
    assert time.monotonic() - began < 8
    hanging.answer = inbox.status(200)
    _let_try_again(service)
    service.start()
    wait_until(lambda: len(_jtis(hanging)) == PEOPLE, "what waited is not sent after the restart")
    assert service.stop() == 0
    assert len(good.received) == PEOPLE
    assert "Traceback" not in service.logged(), service.logged()[-4000:]
    assert "locked" not in service.logged()


def _jtis(app: Inbox) -> set[str]:
    return {each.claims["jti"] for each in app.received}


def _let_try_again(service: Service) -> None:
    """As if the claim of the stopped process had ended, and the pause after the failure."""
    with sqlite3.connect(service.home / "db.sqlite3") as database:
        database.execute("UPDATE oidc_eventreceiver SET busy_until = NULL, retry_at = NULL")
        database.execute("UPDATE oidc_delivery SET not_before = happened_at WHERE state = 'waiting'")
