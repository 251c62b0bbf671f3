"""What a server has counted when it stops, or is killed: seen in its database afterwards."""

import datetime
import os
import signal
import sqlite3
import time
from collections.abc import Iterator

import httpx
import psycopg
import pytest

from tests.services.service import Service, fresh

pytestmark = pytest.mark.slow


@pytest.fixture
def service() -> Iterator[Service]:
    """A service with one project; its log is looked at by the test."""
    with fresh() as service:
        service.start()
        yield service


def key_of(service: Service) -> str:
    """Declare a key, and return it."""
    owner = {"email": "ada@example.com", "password": "correct horse 9 battery"}
    keys = [{"name": "Script", "owner": owner["email"], "permissions": ["account.read"]}]
    declared = service.provision(people=[owner], projects=[{"name": "P", "owner": owner["email"], "api_keys": keys}])
    return str(declared["projects"][0]["api_keys"][0]["key"])


def counted(service: Service) -> dict[int, int]:
    """Return how many calls its database knows, by status."""
    sql = "SELECT status, sum(count) FROM api_usagebucket GROUP BY status"
    if url := service.settings.get("DATABASE_URL"):
        with psycopg.connect(url) as connection:
            return {int(status): int(count) for status, count in connection.execute(sql.encode()).fetchall()}
    with sqlite3.connect(service.home / "db.sqlite3") as connection:
        return dict(connection.execute(sql).fetchall())


def call(service: Service, key: str, times: int) -> None:
    with httpx.Client(headers={"Authorization": f"Bearer {key}"}) as client:
        for number in range(times):
            path = "/v1/me/plan" if number % 2 else "/v1/me"
            assert client.get(f"{service.address}{path}").status_code == 200


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_clean_stop_loses_nothing(service: Service, how: signal.Signals) -> None:
    key = key_of(service)
    call(service, key, 37)
    assert service.stop(how) == 0
    assert counted(service) == {200: 37}
    assert "Traceback" not in service.logged()


def test_several_lives_add_up(service: Service) -> None:
    key = key_of(service)
    for _ in range(2):
        call(service, key, 5)
        assert service.stop() == 0
        service.start()
    call(service, key, 5)
    assert httpx.get(f"{service.address}/v1/me", headers={"Authorization": "Bearer x"}).status_code == 401
    assert service.stop() == 0
    assert counted(service) == {200: 15}


def test_a_kill_loses_no_more_than_was_not_written_yet(service: Service) -> None:
    key = key_of(service)
    call(service, key, 10)
    deadline = time.monotonic() + 30
    while counted(service) != {200: 10}:  # the periodic flush
        assert time.monotonic() < deadline, "nothing was flushed"
        time.sleep(0.5)
    call(service, key, 3)
    service.stop(signal.SIGKILL)
    assert counted(service) in ({200: 10}, {200: 13})


def test_a_stop_in_the_middle_of_calls_counts_each_that_was_answered(service: Service) -> None:
    key = key_of(service)
    assert service.process is not None
    answered = 0
    started = datetime.datetime.now(datetime.UTC)
    with httpx.Client(headers={"Authorization": f"Bearer {key}"}) as client:
        try:
            while (datetime.datetime.now(datetime.UTC) - started).seconds < 20:
                answered += client.get(f"{service.address}/v1/me").status_code == 200
                if answered == 50:
                    os.kill(service.process.pid, signal.SIGTERM)
        except httpx.TransportError:
            pass
    assert service.stop() == 0
    assert answered >= 50
    # The one on its way at the end may have been counted and not answered.
    assert counted(service)[200] - answered in (0, 1)


def test_a_clean_stop_loses_no_log_entry(service: Service) -> None:
    key = key_of(service)
    call(service, key, 9)
    # One refusal of a sign-in, in its client's log, beside them.
    sql = "SELECT (SELECT count(*) FROM api_requestlog), (SELECT count(*) FROM console_signinevent)"
    declared = service.provision(
        projects=[
            {
                "name": "P",
                "owner": "ada@example.com",
                "clients": [{"name": "A", "type": "spa", "redirect_uris": ["https://app.example.com/"]}],
            }
        ]
    )
    client_id = declared["projects"][0]["clients"][0]["client_id"]
    address = f"{service.address}/connect/authorize?client_id={client_id}&redirect_uri=https://elsewhere.example.com/"
    assert httpx.get(address).status_code == 400
    assert service.stop() == 0
    if url := service.settings.get("DATABASE_URL"):
        with psycopg.connect(url) as connection:
            assert connection.execute(sql.encode()).fetchall() == [(9, 1)]
    else:
        with sqlite3.connect(service.home / "db.sqlite3") as connection:
            assert connection.execute(sql).fetchall() == [(9, 1)]
