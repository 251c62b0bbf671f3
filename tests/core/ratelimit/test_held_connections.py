"""Connections that counting holds on to (core/limits/redis.py), on a real Redis."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis

from core.limits import redis as connections
from core.limits.redis import HeldConnections

pytestmark = pytest.mark.redis


@pytest.fixture
def client(redis_url: str) -> Any:
    return redis.Redis.from_url(redis_url, socket_timeout=5, socket_connect_timeout=5)


def test_one_after_the_other_they_share_a_connection(client: Any) -> None:
    held = HeldConnections(client)
    assert len({held.execute("CLIENT", "ID") for _ in range(20)}) == 1


def test_at_the_same_moment_each_has_its_own(client: Any) -> None:
    held = HeldConnections(client)
    barrier = threading.Barrier(4)

    def ask(_: int) -> Any:
        barrier.wait()
        return held.execute("BLPOP", "nothing", "0.2"), held.execute("CLIENT", "ID")

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    assert [answer for answer, _ in answers] == [None] * 4
    assert len(held._idle) == 4


def test_an_error_of_redis_is_an_answer(client: Any) -> None:
    held = HeldConnections(client)
    number = held.execute("CLIENT", "ID")
    with pytest.raises(redis.exceptions.NoScriptError):
        held.execute("EVALSHA", "0" * 40, 0)
    assert held.execute("CLIENT", "ID") == number


def test_after_a_failure_no_connection_of_before_is_used(client: Any) -> None:
    held = HeldConnections(client)
    number = held.execute("CLIENT", "ID")
    client.client_kill_filter(_id=number)
    with pytest.raises(redis.exceptions.ConnectionError):
        held.execute("PING")
    assert held.execute("CLIENT", "ID") != number


def test_one_that_rested_is_looked_at_first(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldConnections(client)
    number = held.execute("CLIENT", "ID")
    monkeypatch.setattr(connections, "RESTED_SECONDS", 0)
    assert held.execute("CLIENT", "ID") == number
    client.client_kill_filter(_id=number)
    assert held.execute("CLIENT", "ID") != number


def test_an_answer_that_came_too_late_is_never_taken_for_the_next(redis_url: str) -> None:
    held = HeldConnections(redis.Redis.from_url(redis_url, socket_timeout=0.1))
    held.execute("DEL", "late")
    with pytest.raises(redis.exceptions.TimeoutError):
        held.execute("BLPOP", "late", "0.4")
    assert held.execute("ECHO", "mine") == b"mine"


def test_a_forked_process_connects_again(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldConnections(client)
    number = held.execute("CLIENT", "ID")
    monkeypatch.setattr(held, "_process", -1)
    assert held.execute("CLIENT", "ID") != number
