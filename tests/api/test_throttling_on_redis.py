"""The limits on a real Redis: exact over threads and processes, and calls that go on when it is lost.

tests/faults/test_redis.py measures how long callers wait while Redis is frozen, stopped or slow.
"""

import multiprocessing
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis

from api import keys
from core.limits import counters as counting
from core.limits.counters import Counters, Finished, Limit, RedisCounters
from oidc.authorization import consent
from oidc.models import Connection
from tests.api.calls import ME, call, refusal
from tests.api.conftest import Key
from tests.api.stores import stopped
from tests.services import redis as redis_service

pytestmark = pytest.mark.redis


@pytest.fixture
def clean(redis_url: str) -> str:
    redis.Redis.from_url(redis_url).flushall()
    return redis_url


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Callable[[str], Counters]:
    """Have the service count on a Redis at this address, so much that no test here meets the limit unawares."""
    settings.API_CALLS_PER_MINUTE = 100_000

    def counting_at(url: str) -> Counters:
        shared = Counters(RedisCounters(url))
        for module in ("api.throttling", "api.usage_counts", "core.limits.counters"):
            monkeypatch.setattr(f"{module}.counters", lambda: shared)
        return shared

    return counting_at


@pytest.fixture
def patient(settings: Any) -> None:
    """Wait a second for Redis, which a busy machine may delay; ask for it in tests of what is counted, not how fast."""
    settings.REDIS_TIMEOUT_SECONDS = 1.0


# --- Exactness ---


def test_the_numbers_are_the_same_as_in_the_process(clean: str) -> None:
    redis_service.room_in_the_minute(5)
    shared, local = RedisCounters(clean), counting.LocalCounters()
    app, person = Limit("app:a", 4), Limit("person:a", 2)
    for limits in ([app, person],) * 4 + ([app],) * 5:
        on_redis, here = shared.take(limits, Finished()), local.take(limits, Finished())
        assert (on_redis.allowed, on_redis.limit, on_redis.remaining) == (here.allowed, here.limit, here.remaining)
        assert 1 <= on_redis.reset <= 60


def test_a_refused_request_uses_up_nothing(clean: str) -> None:
    redis_service.room_in_the_minute(5)
    shared = RedisCounters(clean)
    both = [Limit("app", 10), Limit("person", 1)]
    assert [shared.take(both, Finished()).allowed for _ in range(5)] == [True, False, False, False, False]
    assert shared.take([Limit("app", 10)], Finished()).remaining == 8


def test_a_counter_goes_away_by_itself(clean: str) -> None:
    RedisCounters(clean).take([Limit("a", 1)], Finished())
    client = redis.Redis.from_url(clean)
    (name,) = client.scan_iter("limit:*")
    assert 0 < client.ttl(name) <= 120


def test_a_thousand_at_once_at_a_windows_edge(clean: str, patient: None) -> None:
    # Started shortly before Redis's minute ends; whatever falls on either side, neither gets more than 600.
    shared = Counters(RedisCounters(clean))
    left = 60 - time.time() % 60
    time.sleep(max(left - 0.4, 0) if left < 30 else 0)

    def one(number: int) -> tuple[bool, int]:
        result = shared.take([Limit("key:edge", 600)])
        return result.allowed, result.reset

    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(one, range(1000)))
    assert shared.failures == 0
    store: Any = redis.Redis.from_url(clean)
    windows = [int(count) for count in store.mget(store.keys("limit:*"))]
    assert max(windows) <= 600
    assert sum(allowed for allowed, _ in results) == sum(windows)
    assert sum(windows) == 600 or len(windows) == 2


def _count_in_a_process(url: str, calls: int, allowed: Any) -> None:
    shared = Counters(RedisCounters(url))
    # A machine under load may make Redis look slow; here its count is what is tested.
    assert shared.shared is not None
    shared.shared._client.connection_pool.connection_kwargs.update(socket_timeout=10, socket_connect_timeout=10)
    allowed.put(sum(shared.take([Limit("key:shared", 600)]).allowed for _ in range(calls)))


def test_four_processes_share_one_count(clean: str) -> None:
    redis_service.room_in_the_minute()
    context = multiprocessing.get_context("fork")
    allowed = context.Queue()
    processes = [context.Process(target=_count_in_a_process, args=(clean, 250, allowed)) for _ in range(4)]
    for process in processes:
        process.start()
    counts = [allowed.get(timeout=30) for _ in processes]
    for process in processes:
        process.join()
    assert sum(counts) == 600, counts


def test_over_http(key: Key, clean: str, use: Callable[[str], Counters], settings: Any) -> None:
    redis_service.room_in_the_minute(5)
    use(clean)
    settings.API_CALLS_PER_MINUTE = 3
    responses = [call(ME, key.raw) for _ in range(4)]
    assert [response.status_code for response in responses] == [200, 200, 200, 429]
    assert [response["RateLimit-Remaining"] for response in responses] == ["2", "1", "0", "0"]


# --- Loss ---


@pytest.mark.parametrize("command", ["FLUSHALL", "SCRIPT FLUSH", "CLIENT KILL TYPE normal"])
def test_a_redis_that_forgets_during_a_run(
    command: str, key: Key, clean: str, use: Callable[[str], Counters], patient: None
) -> None:
    shared = use(clean)
    client: Any = redis.Redis.from_url(clean)
    for number in range(30):
        if number % 10 == 5:
            client.execute_command(*command.split())
        assert call(ME, key.raw).status_code == 200
    assert shared.failures == 0 or "KILL" in command


def test_a_redis_that_refuses_to_write(key: Key, clean: str, use: Callable[[str], Counters]) -> None:
    shared = use(clean)
    client = redis.Redis.from_url(clean)
    client.config_set("maxmemory", "1")
    try:
        assert call(ME, key.raw).status_code == 200
    finally:
        client.config_set("maxmemory", "0")
    assert shared.failures == 1


def test_limits_and_revocations_hold_while_it_is_lost(
    key: Key, token: str, use: Callable[[str], Counters], settings: Any
) -> None:
    use("redis://127.0.0.1:1/0")
    redis_service.room_in_the_minute(5)
    settings.API_CALLS_PER_MINUTE = 5
    assert [call(ME, key.raw).status_code for _ in range(7)] == [200] * 5 + [429] * 2
    assert call(ME, token).status_code == 200
    consent.remove_consent(Connection.objects.get())
    keys.API_KEYS.revoke(key.row)
    assert refusal(call(ME, token)) == (401, "invalid_token")
    assert refusal(call(ME, key.raw)) == (401, "invalid_api_key")


def test_finished_counts_are_not_lost_with_it(key: Key, clean: str, use: Callable[[str], Counters]) -> None:
    with redis_service.start() as url:
        shared = use(url)
        for _ in range(3):
            call(ME, key.raw)
        redis.Redis.from_url(url).shutdown(nosave=True)
        for _ in range(4):
            call(ME, key.raw)
        # Two travelled to the Redis that is gone; the third was on its way.
        held = [sum(finished.counts.values()) for _, _, finished in shared.drain()]
    assert held == [5]


def test_threads_wait_together_and_not_in_turn(clean: str, use: Callable[[str], Counters]) -> None:
    shared = use(clean)
    slowest: list[float] = []

    def one() -> None:
        started = time.perf_counter()
        shared.take([Limit("a", 10)])
        slowest.append(time.perf_counter() - started)

    with stopped(clean):
        threads = [threading.Thread(target=one) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    # Eight in turn would take eight times as long.
    assert statistics.median(slowest) <= 0.1
