"""Limits while Redis is lost, frozen, flushed or comes and goes: they hold, and no caller waits long."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
from django.conf import settings as service
from django.core.cache import cache

from core.limits import Rate, hit, undo_hit
from core.limits import redis as breaker
from core.limits import store as shadow
from core.limits.redis import Batch, Breaker, Finished, counters_at, process_breaker
from core.limits.store import FailoverCache, Shadow
from tests.api.stores import slow_road, stopped
from tests.core.ratelimit.test_ratelimit import hits
from tests.services.redis import start

FIVE = Rate("tests", 5, 300)
BACKEND = "core.limits.store.FailoverCache"


@pytest.fixture(autouse=True)
def within_one_window(stopped_clock: None) -> None:
    pass


@pytest.fixture
def on_redis(redis_url: str, settings: Any) -> Iterator[Any]:
    """Have the limits counted on Redis, and yield a client of it."""
    client = redis.Redis.from_url(redis_url)
    client.flushall()
    settings.CACHES = {"default": {"BACKEND": BACKEND, "LOCATION": redis_url}}
    yield client
    client.close()


def another_process(settings: Any, url: str) -> None:
    """Go on with a cache that knows nothing by itself."""
    settings.CACHES = {"default": {"BACKEND": BACKEND, "LOCATION": url}}


# --- The breaker ---


def test_one_asks_after_a_while_and_the_others_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    made = Breaker()
    assert [made.may_ask() for _ in range(3)] == [True] * 3
    made.failed(OSError())
    assert [made.may_ask() for _ in range(3)] == [False] * 3
    now[0] += breaker.PAUSE_SECONDS
    assert [made.may_ask() for _ in range(3)] == [True, False, False]
    made.failed(OSError())
    now[0] += breaker.PAUSE_SECONDS
    assert made.may_ask()
    made.answered()
    assert [made.may_ask() for _ in range(3)] == [True] * 3
    assert made.failures == 2


# --- A Redis that is lost ---


def test_limits_hold_in_the_process(lost_redis: None) -> None:
    assert hits(FIVE, "a", times=9) == 5
    assert hits(FIVE, "b", times=9) == 5


def test_successes_are_taken_back_there_too(lost_redis: None) -> None:
    for _ in range(20):
        undo_hit(FIVE, "a", window=hit(FIVE, "a"))
    assert hits(FIVE, "a", times=9) == 5


def test_no_use_of_the_cache_raises(lost_redis: None) -> None:
    cache.set("a", "text")
    assert cache.get("a", "default") == "default"
    assert cache.add("b", 1, 60)
    assert cache.incr("b") == 2
    assert cache.get_many(["a", "b"]) == {"b": 2}
    assert not cache.touch("b", 60)
    assert cache.has_key("b")
    assert cache.delete("b")
    cache.set_many({"a": 1})
    cache.delete_many(["a"])
    cache.clear()
    with pytest.raises(ValueError, match="not found"):
        cache.incr("nothing")


def test_an_address_that_no_resolver_knows_is_a_lost_redis(settings: Any) -> None:
    another_process(settings, "redis://nowhere.invalid:6379/0")
    assert hits(FIVE, "a", times=7) == 5


# --- What a process knows by itself is bounded ---


def test_a_process_keeps_a_limited_number_of_keys_the_longest_lasting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow, "MOST_KEYS", 100)
    kept = Shadow()
    assert kept.add("a day", 1, 86400)
    for number in range(1000):
        kept.add(str(number), 1, 300)
        assert len(kept) <= 100
    assert kept.get("a day") == 1
    assert kept.get("999") == 1


def test_expired_keys_are_dropped_first(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(shadow, "MOST_KEYS", 10)
    kept = Shadow()
    for number in range(9):
        kept.add(f"short {number}", 1, 1)
    kept.add("long", 1, 60)
    now[0] += 2
    assert kept.get("short 1") is None
    assert kept.add("new", 1, 5)
    assert len(kept) == 2
    assert kept.add("short 1", 7, 60)


# --- On a Redis that is harmed ---


@pytest.mark.redis
def test_a_hit_is_two_trips_at_most(on_redis: Any) -> None:
    hit(FIVE, "a")
    before = on_redis.info("commandstats")
    hit(FIVE, "a")
    after = on_redis.info("commandstats")
    calls = {name: entry["calls"] - before.get(name, {"calls": 0})["calls"] for name, entry in after.items()}
    assert {name: calls[f"cmdstat_{name}"] for name in ("set", "eval")} == {"set": 1, "eval": 1}


@pytest.mark.redis
def test_processes_share_one_count(on_redis: Any, redis_url: str, settings: Any) -> None:
    assert hits(FIVE, "a", times=3) == 3
    another_process(settings, redis_url)
    assert hits(FIVE, "a", times=9) == 2


@pytest.mark.redis
def test_an_outage_begins_with_what_was_counted_before(on_redis: Any, redis_url: str) -> None:
    assert hits(FIVE, "a", times=3) == 3
    with stopped(redis_url):
        assert hits(FIVE, "a", times=9) == 2


@pytest.mark.redis
def test_a_flushed_redis_resets_nobody_that_a_process_knows(on_redis: Any, redis_url: str, settings: Any) -> None:
    assert hits(FIVE, "a", times=9) == 5
    on_redis.flushall()
    assert hits(FIVE, "a", times=9) == 0
    # One that has not heard of them gives one more window, and that is all.
    on_redis.flushall()
    another_process(settings, redis_url)
    assert hits(FIVE, "a", times=9) == 5
    on_redis.flushall()
    assert hits(FIVE, "a", times=9) == 0


@pytest.mark.redis
def test_a_redis_that_comes_and_goes_gives_one_budget(on_redis: Any, redis_url: str) -> None:
    allowed = 0
    for _ in range(4):
        allowed += hits(FIVE, "a", times=2)
        with stopped(redis_url):
            allowed += hits(FIVE, "a", times=2)
        process_breaker().answered()  # as after its pause
    assert allowed == 5


@pytest.mark.redis
def test_a_frozen_redis_costs_one_time_out_and_not_one_a_command(on_redis: Any, redis_url: str) -> None:
    hit(FIVE, "a")
    with stopped(redis_url):
        began = time.perf_counter()
        for number in range(10):
            hit(FIVE, number)
        seconds = time.perf_counter() - began
    assert process_breaker().failures == 1
    assert seconds < 3 * service.REDIS_TIMEOUT_SECONDS


@pytest.mark.redis
def test_a_far_redis_is_used_where_the_time_out_allows_it(on_redis: Any, redis_url: str, settings: Any) -> None:
    with slow_road(redis_url) as road:
        road.delay = 0.07
        for seconds, failures in ((0.05, 1), (0.5, 0)):
            process_breaker.cache_clear()
            settings.REDIS_TIMEOUT_SECONDS = seconds
            another_process(settings, road.url)
            hit(FIVE, seconds)
            assert process_breaker().failures == failures


@pytest.mark.redis
def test_a_master_that_became_a_replica_is_left_for_the_new_one(on_redis: Any, redis_url: str, settings: Any) -> None:
    """A failover behind one address, as of a managed Redis: the former master keeps its connections."""
    settings.REDIS_TIMEOUT_SECONDS = 1.0
    with slow_road(redis_url) as road, start() as new_url, contextlib.ExitStack() as at_the_end:
        another_process(settings, road.url)
        counters = counters_at(road.url)
        hit(FIVE, "a")
        counters.ask()
        road.lead_to(new_url)
        at_the_end.callback(on_redis.replicaof, "NO", "ONE")
        on_redis.replicaof("127.0.0.1", urlsplit(new_url).port)
        for batch in ("first", "second"):
            hit(FIVE, batch)
            with contextlib.suppress(redis.ConnectionError):
                counters.keep(Batch(batch, Finished({"calls": 1})))
            process_breaker().answered()  # as after its pause
        assert process_breaker().failures == 1
        new = redis.Redis.from_url(new_url)
        assert new.hgetall("usage") == {b"calls": b"1"}
        new.close()


@pytest.mark.redis
def test_a_used_code_stays_used_when_redis_forgets_it(on_redis: Any, redis_url: str) -> None:
    assert cache.add("used", "y", 90)
    on_redis.flushall()
    assert not cache.add("used", "y", 90)
    with stopped(redis_url):
        assert not cache.add("used", "y", 90)


@pytest.mark.redis
def test_it_is_an_ordinary_cache_otherwise(on_redis: Any, redis_url: str) -> None:
    store = FailoverCache(redis_url, {})
    store.set("a", {"b": [1, "c"]}, 60)
    assert store.get("a") == {"b": [1, "c"]}
    assert store.touch("a", 120)
    assert FailoverCache(redis_url, {}).get("a") == {"b": [1, "c"]}
    assert store.delete("a")
    assert store.get("a", "gone") == "gone"
    assert store.add("n", 1)
    assert store.incr("n", 2) == 3
    assert store.add("lasts", 1, None)
