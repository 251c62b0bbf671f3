"""The wrapper around django-ratelimit, and the cache that it counts in."""

import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from types import SimpleNamespace
from typing import Any

import django_ratelimit.core
import pytest
import redis
from django.core.cache import cache
from django.http import HttpResponse
from django.test import RequestFactory

from core.http.error_pages import too_many_requests
from core.limits import Rate, RateLimited, checks, hit, undo_hit
from core.limits.store import CULL_FROM, MemoryCache

THREE = Rate("tests", 3, 300)


@pytest.fixture(autouse=True)
def within_one_window(stopped_clock: None) -> None:
    pass


def hits(rate: Rate, *key: object, times: int) -> int:
    """Return how many of so many hits were within the rate."""
    allowed = 0
    for _ in range(times):
        try:
            hit(rate, *key)
        except RateLimited:
            continue
        allowed += 1
    return allowed


def test_each_key_and_each_group_counts_apart() -> None:
    assert hits(THREE, "a", times=5) == 3
    assert hits(THREE, "b", times=5) == 3
    assert hits(THREE, "a", "b", times=5) == 3
    assert hits(Rate("others", 3, 300), "a", times=5) == 3


def test_a_window_ends(later: Callable[[float], None]) -> None:
    assert hits(THREE, "a", times=5) == 3
    later(300)
    assert hits(THREE, "a", times=5) == 3


def test_the_wait_is_at_least_a_second_and_never_beyond_the_window(later: Callable[[float], None]) -> None:
    rate, waits = Rate("tests", 0, 10), set()
    for _ in range(25):
        with pytest.raises(RateLimited) as limited:
            hit(rate, "a")
        waits.add(limited.value.wait)
        later(1)
    assert waits <= set(range(1, 11))
    assert len(waits) >= 9


def test_a_window_that_ends_during_a_hit_refuses_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = 1_800_000_000
    last_second = begin + zlib.crc32(b"a") % THREE.seconds
    moments = cycle([last_second, last_second + 1])
    monkeypatch.setattr(django_ratelimit.core, "time", SimpleNamespace(time=lambda: next(moments)))
    assert hits(THREE, "a", times=4) == 3


@pytest.mark.parametrize("wait", [-1, 0, 1, 59, 60, 61, 3600, 86400])
def test_retry_after_is_from_1_to_60(rf: RequestFactory, wait: int) -> None:
    request: Any = rf.get("/")
    request.session, request.user = {}, None
    response: HttpResponse = too_many_requests(request, wait)
    assert 1 <= int(response["Retry-After"]) <= 60


def test_requests_taken_back_do_not_count() -> None:
    for _ in range(20):
        undo_hit(THREE, "a", window=hit(THREE, "a"))
    assert hits(THREE, "a", times=5) == 3


def test_many_at_once_are_counted_exactly() -> None:
    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(lambda _: hits(Rate("tests", 50, 300), "a", times=20), range(20))) == 50


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "x" * 100_000, "\u202e", "\U0001f600"])
def test_any_text_can_be_a_key(text: str) -> None:
    assert hits(THREE, text, times=5) == 3


# --- The store ---


def test_keys_of_others_evict_nothing() -> None:
    assert hits(THREE, "a", times=5) == 3
    for number in range(3 * CULL_FROM):
        hit(THREE, number)
        cache.set(f"other-{number}", number)
    assert hits(THREE, "a", times=5) == 0


def test_only_what_has_expired_is_dropped() -> None:
    store = MemoryCache("tests", {})
    store.clear()
    for number in range(CULL_FROM):
        store.set(f"old-{number}", number, timeout=600)
    for number in range(0, CULL_FROM, 2):
        store._expire_info[store.make_key(f"old-{number}")] = 1.0
    for number in range(CULL_FROM):
        store.set(f"new-{number}", number)
    assert len(store._cache) == CULL_FROM // 2 + CULL_FROM
    assert all(store.get(f"old-{number}") == number for number in range(1, CULL_FROM, 2))


def test_searches_for_expired_keys_are_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    store, real = MemoryCache("tests", {}), MemoryCache._cull
    looks: list[int] = []

    def cull(self: MemoryCache) -> None:
        looks.append(1)
        real(self)

    store.clear()
    monkeypatch.setattr(MemoryCache, "_cull", cull)
    for number in range(20 * CULL_FROM):
        store.set(str(number), number)
    store.clear()
    assert 1 <= len(looks) <= 6


def test_an_entry_that_vanishes_counts_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*args: Any) -> int:
        raise ValueError

    hit(THREE, "a")
    monkeypatch.setattr(cache, "incr", gone)
    with pytest.raises(RateLimited) as limited:
        hit(THREE, "a")
    assert limited.value.wait == 1


# --- The system check ---


@pytest.mark.parametrize(
    ("memory", "warned"),
    [
        ({"maxmemory": 0, "maxmemory_policy": "allkeys-lru"}, False),
        ({"maxmemory": 1000, "maxmemory_policy": "noeviction"}, False),
        ({"maxmemory": 1000, "maxmemory_policy": "allkeys-lru"}, True),
        ({"maxmemory": 1000, "maxmemory_policy": "volatile-ttl"}, True),
    ],
)
def test_a_redis_that_evicts_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, settings: Any, memory: dict[str, Any], warned: bool
) -> None:
    settings.REDIS_URL = "redis://redis.example.com"
    monkeypatch.setattr(redis.Redis, "info", lambda self, section: memory)
    assert [found.id for found in checks.check_eviction_policy(None)] == (["devportal.W001"] if warned else [])


def test_a_redis_that_does_not_answer_is_no_finding(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1"
    assert checks.check_eviction_policy(None) == []
