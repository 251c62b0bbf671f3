"""Twelve people sign up at the same moment: nobody waits for another's hash while holding a slot or a lock."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import urljoin

import httpx
import pytest

from tests.clients.person import PASSWORD, Form, Forms
from tests.faults.rig import NO_LIMITS, Rig, rig
from tests.services import keeper
from tests.services.service import SLOW_HASHES, Service

pytestmark = [pytest.mark.slow, pytest.mark.quiet]

PEOPLE = 12
ANSWERED_WITHIN = 30  # seconds; what is promised is PASSWORD_WAIT_SECONDS
# Of a process that wants to write to the file. A hash takes a tenth of a second at least.
PATIENCE_SECONDS = 0.05


@pytest.fixture(scope="module")
def busy() -> Iterator[Rig]:
    with rig() as made:
        yield made


@pytest.fixture(scope="module")
def on_sqlite() -> Iterator[Service]:
    with keeper.folder() as home:
        service = Service(home, NO_LIMITS | SLOW_HASHES)
        try:
            service.start()
            yield service
        finally:
            service.end()


class Visitor:
    """Someone who has opened a page, and will send the form that has the field `holding`."""

    def __init__(self, browser: httpx.Client, path: str, holding: str, **filled: str) -> None:
        self.browser = browser
        page = browser.get(path)
        form: Form = next(form for form in Forms(page.text).found if holding in form.fields)
        self.action = urljoin(str(page.url), form.action)
        self.fields = {name: value for name, value in (form.fields | filled).items() if name}
        self.status = 0

    def send(self) -> None:
        self.status = self.browser.post(self.action, data=self.fields, headers={"Referer": self.action}).status_code


def new_person(browser: httpx.Client, number: int) -> Visitor:
    names = {"email": f"new{number}@example.com", "given_name": "Eve", "family_name": "", "password1": PASSWORD}
    return Visitor(browser, "/account/signup/details/", "password1", **names)


def all_at_once(*steps: Callable[[], None]) -> None:
    together = threading.Barrier(len(steps))

    def run(step: Callable[[], None]) -> None:
        together.wait()
        step()

    threads = [threading.Thread(target=run, args=(step,), daemon=True) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(ANSWERED_WITHIN)


@pytest.mark.redis
@pytest.mark.postgres
def test_twelve_sign_ups_at_once_all_succeed_and_so_does_a_sign_in(busy: Rig) -> None:
    busy.service.provision(people=[{"email": "known@example.com", "password": PASSWORD}])
    for _ in range(2):  # a worker starts its thread for hashes with the first of them
        new_person(busy.service.client(), 100).send()
    people = [new_person(busy.service.client(60, f"198.51.100.{number + 1}"), number) for number in range(PEOPLE)]
    known = {"login": "known@example.com", "password": PASSWORD}
    signing_in = Visitor(busy.service.client(60, "198.51.100.99"), "/account/login/", "password", **known)

    def a_moment_later() -> None:
        time.sleep(0.2)
        signing_in.send()

    all_at_once(*(one.send for one in people), a_moment_later)
    assert [one.status for one in people] == [302] * PEOPLE
    assert signing_in.status == 302


def test_on_sqlite_others_write_while_sign_ups_are_hashed(on_sqlite: Service) -> None:
    people = [new_person(on_sqlite.client(60), number) for number in range(PEOPLE)]
    locked: list[float] = []
    ended = threading.Event()

    def write_until_ended() -> None:
        file = sqlite3.connect(on_sqlite.home / "db.sqlite3", timeout=PATIENCE_SECONDS, isolation_level=None)
        while not ended.is_set():
            try:
                file.execute("BEGIN IMMEDIATE")
                file.execute("ROLLBACK")
            except sqlite3.OperationalError:
                locked.append(time.monotonic())
            time.sleep(0.01)
        file.close()

    writing = threading.Thread(target=write_until_ended, daemon=True)
    writing.start()
    all_at_once(*(one.send for one in people))
    ended.set()
    writing.join(5)
    assert [one.status for one in people] == [302] * PEOPLE
    assert len(locked) <= 2  # a commit on a busy disk
