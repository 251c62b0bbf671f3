"""Usage that waits in Redis: batches, writers that crash, writers that meet."""

import threading
from typing import Any

import pytest
from django.conf import settings

from api import usage_counts
from api.models import UsageBatch, UsageBucket
from core.limits import counters as counting
from core.limits.counters import Counters, Finished, Limit, RedisCounters
from tests.api.calls import ME, call
from tests.api.conftest import Key
from tests.api.stores import slow_road, stopped

pytestmark = pytest.mark.redis


def total() -> int:
    return sum(UsageBucket.objects.values_list("count", flat=True))


def test_workers_add_up(key: Key, shared: Counters, redis_url: str) -> None:
    call(ME, key.raw)
    field = next(iter(dict(shared._finished)))
    others = [Counters(RedisCounters(redis_url)) for _ in range(3)]
    for other in others:
        for _ in range(10):
            other.finished(field)
            other.take([Limit("x", 1000)])
    assert usage_counts.flush_usage() == 30 + 1
    assert total() == 31


def test_a_crash_after_the_batch_was_taken(key: Key, shared: Counters, store: Any) -> None:
    call(ME, key.raw)
    call(ME, key.raw)
    assert shared.shared is not None
    taken = shared.shared.drain()
    assert taken is not None
    # The one that took it is gone; another comes.
    for _ in range(3):
        usage_counts.flush_usage()
    assert total() == 2
    assert not list(store.scan_iter("usage*"))


def test_a_crash_between_writing_and_settling(
    key: Key, shared: Counters, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(ME, key.raw)
    call(ME, key.raw)

    def crash(self: RedisCounters, batch_id: str) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(RedisCounters, "settle", crash)
        with pytest.raises(RuntimeError):
            usage_counts.flush_usage()
    assert len(list(store.scan_iter("usage:batch:*"))) == 1
    usage_counts.flush_usage()
    assert total() == 2
    assert not list(store.scan_iter("usage*"))


def test_two_that_drain_at_once_see_one_batch(key: Key, shared: Counters, redis_url: str) -> None:
    for _ in range(3):
        call(ME, key.raw)
    first, second = (RedisCounters(redis_url) for _ in range(2))
    one, other = first.drain(), second.drain()
    assert one is not None
    assert one == other
    for holder, batch in ((first, one), (second, other)):
        assert batch is not None
        _, is_new = UsageBatch.objects.get_or_create(batch_id=batch[0])
        if is_new:
            usage_counts._write(batch[1])
        holder.settle(batch[0])
    assert total() == 2
    assert (first.drain(), second.drain()) == (None, None)


def test_many_that_drain_at_once_lose_nothing(redis_url: str, store: Any) -> None:
    writers = [RedisCounters(redis_url) for _ in range(4)]
    batches: dict[str, Finished] = {}
    done = threading.Event()

    def drain(writer: RedisCounters) -> None:
        while not done.is_set():
            batch = writer.drain()
            # One that was settled in between is empty: the process that had it wrote it.
            if batch is not None and batch[1]:
                batches[batch[0]] = batch[1]
                writer.settle(batch[0])

    threads = [threading.Thread(target=drain, args=(writer,)) for writer in writers[1:]]
    for thread in threads:
        thread.start()
    for _ in range(300):
        writers[0].take([Limit("x", 10_000)], Finished({"f": 1}))
    done.set()
    for thread in threads:
        thread.join()
    while batch := writers[0].drain():
        batches[batch[0]] = batch[1]
        writers[0].settle(batch[0])
    assert sum(finished.counts["f"] for finished in batches.values()) == 300
    assert not list(store.scan_iter("usage*"))


def test_a_flush_without_redis_keeps_what_is_there(key: Key, shared: Counters, redis_url: str) -> None:
    for _ in range(3):
        call(ME, key.raw)
    here = shared.shared
    shared.shared = RedisCounters("redis://127.0.0.1:1/0")
    assert usage_counts.flush_usage() == 1
    assert shared.failures == 1
    shared.shared = here
    assert usage_counts.flush_usage() == 2
    assert total() == 3


# --- What was on its way when an answer did not come ---


def usage_on(store: Any) -> int:
    """Return how much usage Redis holds, batches that are being written included."""
    names = [*store.scan_iter("usage*")]
    return sum(int(number) for name in names for number in store.hvals(name))


def test_counts_without_redis_are_sent_when_it_is_back(
    redis_url: str, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A worker of its own never drains: what it holds must not wait until it stops.
    monkeypatch.setattr(counting, "FIELDS_PER_TRIP", 4)
    made = Counters(RedisCounters("redis://127.0.0.1:1/0"))
    for number in range(10):
        made.finished(f"f{number}")
        made.take([Limit("a", 100)])
    assert made.local.fields > 0
    made.shared = RedisCounters(redis_url)
    made.breaker.answered()
    for _ in range(4):
        made.take([Limit("a", 100)])
    assert made.local.fields == 0
    assert usage_on(store) == 10


def test_a_parcel_in_doubt_is_written_here_when_nobody_answers(redis_url: str, store: Any) -> None:
    made = Counters(RedisCounters(redis_url))
    made.take([Limit("a", 10)])
    made.finished("f")
    with stopped(redis_url):
        made.take([Limit("a", 10)])
        made.shared = RedisCounters("redis://127.0.0.1:1/0")
        assert [finished.counts for _, _, finished in made.drain()] == [{"f": 1}]


def test_a_large_batch_is_drained_however_long_redis_takes(
    redis_url: str, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with slow_road(redis_url) as road:
        made = RedisCounters(road.url)
        made.take([Limit("a", 10)], Finished({"f": 1}))
        road.delay = 3 * settings.REDIS_TIMEOUT_SECONDS
        batch = made.drain()
        assert batch is not None
        assert batch[1] == Finished({"f": 1})
        made.settle(batch[0])
    assert not [*store.scan_iter("usage*"), *store.scan_iter("batches")]
