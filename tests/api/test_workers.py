"""What ends, ends on every worker: four processes on one database, each asked after the change."""

import contextlib
import logging
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest

from tests.api.four_workers import WORKER_HEADER
from tests.clients.app import App, listening
from tests.clients.person import PASSWORD, Forms, Person
from tests.services import keeper
from tests.services.service import READY_SECONDS, ROOT, Service, fresh

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

log = logging.getLogger(__name__)

WORKERS = 4
ADA = "ada@example.com"
MOST_CALLS = 600


def start(service: Service) -> None:
    """Start the service with several workers on its database."""
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(migrate, cwd=ROOT, env=service.environment(), check=True)
    command = [sys.executable, "-m", "tests.api.four_workers", str(service.port), str(WORKERS)]
    with service.log.open("ab") as log:
        service.process = subprocess.Popen(command, cwd=ROOT, env=service.environment(), stdout=log, stderr=log)
    # Each worker loads the service by itself.
    deadline = time.monotonic() + 2 * READY_SECONDS
    while not service.answers():
        if service.process.poll() is not None or time.monotonic() > deadline:
            raise keeper.NotStartedError(service.logged()[-2000:])
        time.sleep(0.1)


@dataclass
class World:
    """Four workers, and one app with a key beside it."""

    service: Service
    app: App
    key: str
    ada: Person

    def sql(self, statement: str) -> None:
        """Change the database as the console or an administrator does, from outside of every worker."""
        with psycopg.connect(self.service.settings["DATABASE_URL"], autocommit=True) as connection:
            assert connection.execute(statement.encode()).rowcount > 0

    def token(self) -> str:
        """Return a fresh access token of the person."""
        url = self.ada.go(self.app.authorization_url())
        answer = self.app.exchange(parse_qs(urlsplit(url).query)["code"][0])
        return str(answer.json()["access_token"])

    def ask(self, credential: str) -> httpx.Response:
        # A connection of its own each time, so that any worker may take it.
        return httpx.get(f"{self.service.address}/v1/me", headers={"Authorization": f"Bearer {credential}"}, timeout=20)

    def ask_every_worker(self, credential: str) -> Counter[tuple[str, int, str]]:
        """Call until each worker has answered twice; return (worker, status, code) and how often."""
        seen: Counter[tuple[str, int, str]] = Counter()
        for _ in range(MOST_CALLS):
            response = self.ask(credential)
            code = response.json().get("error", {}).get("code", "")
            seen[(response.headers[WORKER_HEADER], response.status_code, code)] += 1
            answered = Counter(worker for worker, _, _ in seen.elements())
            if len(answered) == WORKERS and min(answered.values()) >= 2:
                return seen
        raise AssertionError(f"not every worker answered: {seen}")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    limits = {"API_CALLS_PER_MINUTE": "100000", "API_CALLS_PER_PERSON_PER_MINUTE": "100000"}
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(fresh(**limits))
        start(service)
        app = stack.enter_context(listening(service, "Orbit"))
        people = [{"email": ADA, "password": PASSWORD, "given_name": "Ada"}]
        keys = [{"name": "Script", "owner": ADA, "permissions": ["account.read"]}]
        project = {"name": "Orbit", "owner": ADA, "clients": [app.declaration()], "api_keys": keys}
        declared = service.provision(people=people, projects=[project])
        app.take_credentials(declared)
        yield World(service, app, declared["projects"][0]["api_keys"][0]["key"], Person(service, ADA))
        assert "Traceback" not in service.logged(), service.logged()[-4000:]


def check(world: World, credential: str, change: Callable[[], Any], code: str) -> None:
    """Make a change after every worker has accepted the credential; each refuses it at the next call.

    30 seconds are promised (docs/sign-in.md#apps-that-are-turned-off-or-suspended). Every call reads the state.
    """
    before = world.ask_every_worker(credential)
    assert {(status, told) for _, status, told in before} == {(200, "")}
    change()
    changed = time.monotonic()
    after = world.ask_every_worker(credential)
    log.info("Every worker had refused twice %.2f s after the change.", time.monotonic() - changed)
    assert {(status, told) for _, status, told in after} == {(401, code)}


def test_each_worker_answers(world: World) -> None:
    seen = world.ask_every_worker(world.key)
    assert len({worker for worker, _, _ in seen}) == WORKERS


def test_a_removal_counts_at_the_very_next_call(world: World) -> None:
    for _ in range(5):
        token = world.token()
        world.ask_every_worker(token)
        _remove_access(world)
        # Not one call more, whichever worker it comes to.
        responses = world.ask_every_worker(token)
        assert {(status, code) for _, status, code in responses} == {(401, "invalid_token")}


def _remove_access(world: World) -> None:
    browser, address = world.ada.browser, world.service.address
    listed = browser.get(f"{address}/account/apps/").text
    (path,) = {part for part in listed.split('"') if part.startswith("/account/apps/") and part.endswith("/remove")}
    page = browser.get(f"{address}{path}")
    (form,) = [form for form in Forms(page.text).found if form.action in ("", path)]
    fields = {name: value for name, value in form.fields.items() if name}
    assert browser.post(f"{address}{path}", data=fields).status_code == 302


@pytest.mark.parametrize(
    ("kind", "table", "change", "undo", "code"),
    [
        ("key", "api_apikey", "revoked_at = now()", "revoked_at = NULL", "invalid_api_key"),
        ("token", "oidc_client", "enabled = false", "enabled = true", "invalid_token"),
        ("key", "oidc_project", "suspended_at = now()", "suspended_at = NULL", "project_suspended"),
        ("token", "oidc_project", "suspended_at = now()", "suspended_at = NULL", "project_suspended"),
        ("token", "accounts_account", "is_active = false", "is_active = true", "invalid_token"),
    ],
)
def test_a_change_counts_on_every_worker(
    kind: str, table: str, change: str, undo: str, code: str, world: World
) -> None:
    credential = world.key if kind == "key" else world.token()
    try:
        check(world, credential, lambda: world.sql(f"UPDATE {table} SET {change}"), code)
    finally:
        world.sql(f"UPDATE {table} SET {undo}")
    if table == "oidc_client":
        assert {status for _, status, _ in world.ask_every_worker(credential)} == {200}
