"""Pages of logs read from a streaming replica. Decisions, and people who have just written, use the primary."""

import time
from collections.abc import Iterator

import httpx
import pytest

from tests.clients.person import Person
from tests.faults.engines import Postgres
from tests.faults.load import declare
from tests.faults.replica import caught_up, replica_of
from tests.faults.rig import Rig, rig
from tests.services import keeper

pytestmark = [pytest.mark.slow, pytest.mark.redis, pytest.mark.postgres]

MAX_LAG_SECONDS = 4
METRICS_PORT = keeper.free_port()
INSERT = """
INSERT INTO api_requestlog
    (project_id, at, api, method, path, status, code, milliseconds, credential, client, subject, request_id, is_counted,
     parameters)
SELECT id, clock_timestamp(), '', 'GET', %s, 200, '', 1, '', '', '', 'r', true, '{}'
FROM oidc_project WHERE name = 'Orbit'
"""


@pytest.fixture(scope="module")
def followed() -> Iterator[tuple[Rig, Postgres]]:
    with rig(start=False) as made:
        declare(made.service, 1)
        with replica_of(made.postgres) as replica:
            made.service.settings |= {
                "REPLICA_DATABASE_URL": replica.url,
                "REPLICA_MAX_LAG_SECONDS": str(MAX_LAG_SECONDS),
                "METRICS_PORT": str(METRICS_PORT),
            }
            made.service.start()
            yield made, replica


@pytest.fixture(scope="module")
def browser(followed: tuple[Rig, Postgres]) -> httpx.Client:
    person = Person(followed[0].service, "p0@example.com")
    page = person.browser.get("/console/", follow_redirects=True)
    person._answer(page)
    time.sleep(MAX_LAG_SECONDS + 1)  # signing in was a change
    return person.browser


def page_of(made: Rig, browser: httpx.Client) -> str:
    (project,) = made.postgres.execute("SELECT public_id FROM oidc_project WHERE name = 'Orbit'")[0]
    answer = browser.get(f"/console/p/{project}/logs/requests", follow_redirects=True)
    assert answer.status_code == 200, answer.text
    return answer.text


def is_fresh() -> bool:
    return "openport_replica_fresh 1.0" in httpx.get(f"http://127.0.0.1:{METRICS_PORT}/metrics", timeout=10).text


def test_a_log_is_read_from_the_replica(followed: tuple[Rig, Postgres], browser: httpx.Client) -> None:
    made, replica = followed
    made.postgres.execute(INSERT, "portal", "/v1/first")
    assert caught_up(made.postgres, replica)
    assert "/v1/first" in page_of(made, browser)
    assert is_fresh()
    replica.execute("SELECT pg_wal_replay_pause()")
    made.postgres.execute(INSERT, "portal", "/v1/second")
    assert "/v1/second" not in page_of(made, browser)
    replica.execute("SELECT pg_wal_replay_resume()")
    assert caught_up(made.postgres, replica)
    assert "/v1/second" in page_of(made, browser)


def test_people_read_their_writes(followed: tuple[Rig, Postgres], browser: httpx.Client) -> None:
    made, replica = followed
    replica.execute("SELECT pg_wal_replay_pause()")
    made.postgres.execute(INSERT, "portal", "/v1/third")
    browser.post("/console/check/name", data={"name": "Orbit"})  # any form
    assert "/v1/third" in page_of(made, browser)
    browser.cookies.delete("openport_primary")
    replica.execute("SELECT pg_wal_replay_resume()")
    assert caught_up(made.postgres, replica)


def test_a_replica_that_is_far_behind_is_not_used(followed: tuple[Rig, Postgres], browser: httpx.Client) -> None:
    made, replica = followed
    replica.execute("SELECT pg_wal_replay_pause()")
    made.postgres.execute(INSERT, "portal", "/v1/fourth")
    deadline = time.monotonic() + MAX_LAG_SECONDS + 10
    while "/v1/fourth" not in page_of(made, browser) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert "/v1/fourth" in page_of(made, browser)
    while is_fresh():
        assert time.monotonic() < deadline
        time.sleep(0.5)
    replica.execute("SELECT pg_wal_replay_resume()")


def test_without_a_replica_every_page_works(followed: tuple[Rig, Postgres], browser: httpx.Client) -> None:
    made, replica = followed
    assert caught_up(made.postgres, replica)
    time.sleep(6)  # until it is looked at again
    page_of(made, browser)
    began = time.monotonic()
    with replica.frozen():
        made.postgres.execute(INSERT, "portal", "/v1/fifth")
        assert "/v1/fifth" in page_of(made, browser)
    assert time.monotonic() - began < 5
    replica.stop()
    for number in range(4):  # both workers
        made.postgres.execute(INSERT, "portal", f"/v1/gone{number}")
        assert f"/v1/gone{number}" in page_of(made, browser)
