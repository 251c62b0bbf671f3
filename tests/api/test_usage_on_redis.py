"""Usage that waits in Redis: batches, writers that crash, writers that meet."""

import threading
from typing import Any

import pytest
import redis

from api import usage
from api.models import UsageBatch, UsageBucket
from devportal.lib.counters import Counters, Limit, RedisCounters
from tests.api.calls import ME, call
from tests.api.conftest import Key

pytestmark = pytest.mark.redis


@pytest.fixture
def store(redis_url: str) -> Any:
    client = redis.Redis.from_url(redis_url)
    client.flushall()
    return client


@pytest.fixture
def shared(redis_url: str, store: Any, monkeypatch: pytest.MonkeyPatch) -> Counters:
    """The service's counters, on Redis."""
    made = Counters(RedisCounters(redis_url))
    for module in ("api.limits", "api.usage", "devportal.lib.limits"):
        monkeypatch.setattr(f"{module}.counters", lambda: made)
    return made


def total() -> int:
    return sum(UsageBucket.objects.values_list("count", flat=True))


def test_it_travels_with_the_next_call_and_is_written(key: Key, shared: Counters, store: Any) -> None:
    for _ in range(5):
        call(ME, key.raw)
    # The last one waits for the next call in the process.
    assert sum(map(int, store.hvals("usage"))) == 4
    assert usage.flush() == 5
    assert total() == 5
    assert not list(store.scan_iter("usage*"))


def test_workers_add_up(key: Key, shared: Counters, redis_url: str) -> None:
    call(ME, key.raw)
    field = next(iter(dict(shared._finished)))
    others = [Counters(RedisCounters(redis_url)) for _ in range(3)]
    for other in others:
        for _ in range(10):
            other.finished(field)
            other.take([Limit("x", 1000)])
    assert usage.flush() == 30 + 1
    assert total() == 31


def test_a_crash_after_the_batch_was_taken(key: Key, shared: Counters, store: Any) -> None:
    call(ME, key.raw)
    call(ME, key.raw)
    assert shared.shared is not None
    taken = shared.shared.drain()
    assert taken is not None
    # The one that took it is gone; another comes.
    for _ in range(3):
        usage.flush()
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
            usage.flush()
    assert len(list(store.scan_iter("usage:batch:*"))) == 1
    usage.flush()
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
            usage._write(batch[1])
        holder.settle(batch[0])
    assert total() == 2
    assert (first.drain(), second.drain()) == (None, None)


def test_many_that_drain_at_once_lose_nothing(redis_url: str, store: Any) -> None:
    writers = [RedisCounters(redis_url) for _ in range(4)]
    batches: dict[str, dict[str, int]] = {}
    done = threading.Event()

    def drain(writer: RedisCounters) -> None:
        while not done.is_set():
            batch = writer.drain()
            # One that was settled in between is empty; whoever had it wrote it.
            if batch is not None and batch[1]:
                batches[batch[0]] = batch[1]
                writer.settle(batch[0])

    threads = [threading.Thread(target=drain, args=(writer,)) for writer in writers[1:]]
    for thread in threads:
        thread.start()
    for _ in range(300):
        writers[0].take([Limit("x", 10_000)], {"f": 1})
    done.set()
    for thread in threads:
        thread.join()
    while batch := writers[0].drain():
        batches[batch[0]] = batch[1]
        writers[0].settle(batch[0])
    assert sum(counts["f"] for counts in batches.values()) == 300
    assert not list(store.scan_iter("usage*"))


def test_a_flush_without_redis_keeps_what_is_there(key: Key, shared: Counters, redis_url: str) -> None:
    for _ in range(3):
        call(ME, key.raw)
    here = shared.shared
    shared.shared = RedisCounters("redis://127.0.0.1:1/0")
    assert usage.flush() == 1
    assert shared.failures == 1
    shared.shared = here
    assert usage.flush() == 2
    assert total() == 3
