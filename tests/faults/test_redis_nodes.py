"""Limits and usage on Redis Sentinel and on a Redis Cluster, as on one Redis; and a master that is lost."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery
from django.core.cache import cache
from kombu.exceptions import OperationalError

from core.limits import Rate, RateLimited, hit
from core.limits.checks import check_eviction_policy
from core.limits.counters import Counters, Finished, Limit
from core.limits.redis import PAUSE_SECONDS, ClusterCounters, counters_at, process_breaker
from core.redis_address import broker_address
from tests.services import redis, redis_nodes
from tests.services.redis_nodes import Cluster, Sentinels

pytestmark = [pytest.mark.slow, pytest.mark.redis]

BACKEND = "core.limits.store.FailoverCache"


@pytest.fixture(scope="module")
def watched() -> Iterator[Sentinels]:
    with redis_nodes.sentinels() as made:
        yield made


@pytest.fixture(scope="module")
def parted() -> Iterator[Cluster]:
    with redis_nodes.cluster() as made:
        yield made


@pytest.fixture(params=["watched", "parted"])
def url(request: pytest.FixtureRequest, settings: Any) -> str:
    """The address of either; the service's cache is there too."""
    found: str = request.getfixturevalue(request.param).url
    # What is tested is what is counted, and this machine does other things as well.
    settings.REDIS_URL, settings.REDIS_TIMEOUT_SECONDS = found, 1.0
    settings.CACHES = {"default": {"BACKEND": BACKEND, "LOCATION": found}}
    cache.clear()
    return found


def written(shared: Counters) -> Counter[str]:
    """Drain all counts and entries, as the task does, and return them."""
    found: Counter[str] = Counter()
    for holder, batch_id, finished in shared.drain():
        found.update(finished.counts)
        found.update(finished.entries)
        holder.settle(batch_id)
    return found


def test_counters_count_together_and_exactly(url: str) -> None:
    processes = [Counters(counters_at(url)) for _ in range(3)]
    redis.room_in_the_minute(10)
    for number in range(40):
        limits = [Limit(f"app:{number}", 5), Limit(f"person:{number}", 3)]
        results = []
        for turn in range(6):
            one = processes[turn % 3]
            one.finished("f")
            one.logged(f"entry {number} {turn}")
            results.append(one.take(limits).allowed)
        assert results == [True] * 3 + [False] * 3
    assert [one.failures for one in processes] == [0, 0, 0]
    found = written(processes[0])
    assert found.pop("f") == 240
    assert set(found.values()) == {1}
    assert len(found) == 240
    assert written(processes[1]) == Counter()


def test_the_cache_counts_there(url: str) -> None:
    rate = Rate("tests", 3, 300)
    redis.room_in_the_minute(10)  # windows of five minutes end with one of a minute
    for number in range(20):
        for _ in range(3):
            hit(rate, number)
        with pytest.raises(RateLimited):
            hit(rate, number)
    assert process_breaker().failures == 0
    assert check_eviction_policy(None) == []


def test_a_request_is_one_trip_to_one_node_of_a_cluster(parted: Cluster, settings: Any) -> None:
    settings.REDIS_TIMEOUT_SECONDS = 1.0
    shared = Counters(counters_at(parted.url))
    assert isinstance(shared.shared, ClusterCounters)

    def scripts() -> list[int]:
        found = [node.client.info("commandstats").get("cmdstat_evalsha", {"calls": 0}) for node in parted.nodes]
        return [int(one["calls"]) for one in found]

    for number in range(64):
        shared.take([Limit(f"app:{number}", 5)])  # each node has the script, and the client knows them all
    before = scripts()
    for number in range(64):
        shared.finished("f")
        shared.take([Limit(f"app:{number}", 5), Limit(f"person:{number}", 5)])
    after = scripts()
    assert sum(after) - sum(before) == 64
    assert all(later > earlier for later, earlier in zip(after, before, strict=True)), "the nodes share the work"
    assert written(shared)["f"] >= 63


def test_a_batch_without_an_answer_is_sent_again_to_the_same_node(parted: Cluster, settings: Any) -> None:
    settings.REDIS_TIMEOUT_SECONDS = 1.0
    shared = Counters(counters_at(parted.url))
    assert shared.shared is not None
    written(shared)
    part = shared.shared.part_of([Limit("app:1", 5)])
    other = next(n for n in range(99) if shared.shared.part_of([Limit(f"app:{n}", 5)]) is not part)
    batch = shared._next_batch(part)._replace(id="heard late", finished=Finished({"f": 1}))
    part.keep(batch)  # it arrived; the answer did not
    shared._take_back(batch, in_doubt=True)
    assert shared.take([Limit(f"app:{other}", 5)]).allowed
    assert written(shared) == Counter({"f": 1})


def test_a_lost_cluster_node_blocks_nobody(settings: Any) -> None:
    with redis_nodes.cluster() as made:
        shared = Counters(counters_at(made.url))
        shared.take([Limit("app:1", 5)])
        made.nodes[2].kill()
        slowest = 0.0
        for number in range(64):
            began = time.perf_counter()
            assert shared.take([Limit(f"app:{number}", 5)]).allowed
            slowest = max(slowest, time.perf_counter() - began)
        assert shared.failures >= 1
        assert slowest < 1.5


def test_celery_finds_the_master(watched: Sentinels, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = broker_address(watched.url)
    told = Celery("told", broker=broker.url)
    told.conf.broker_transport_options = {"socket_timeout": 3.0, **broker.transport_options}
    told.send_task("tests.nothing", queue="told", retry=False)
    assert watched.master.client.llen("told") == 1
    watched.master.client.delete("told")
    # A name that they don't know is no master.
    wrong = Celery("wrong", broker=broker.url)
    wrong.conf.broker_transport_options = {**broker.transport_options, "master_name": "other"}
    with pytest.raises(OperationalError):
        wrong.send_task("tests.nothing", queue="told", retry=False)


def test_a_failover_under_load(watched: Sentinels, settings: Any) -> None:
    settings.REDIS_TIMEOUT_SECONDS = 0.2
    processes = [Counters(counters_at(watched.url)) for _ in range(2)]
    over = threading.Event()
    slowest: list[float] = []
    calls: Counter[int] = Counter()

    def call(number: int) -> None:
        while not over.wait(0.01):
            processes[number].finished("f")
            began = time.perf_counter()
            processes[number].take([Limit(f"app:{number}", 1_000_000)])
            slowest.append(time.perf_counter() - began)
            calls[number] += 1

    threads = [threading.Thread(target=call, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    watched.fail_over()
    deadline = time.monotonic() + 10
    while any(one.breaker.is_open for one in processes) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(PAUSE_SECONDS)
    over.set()
    for thread in threads:
        thread.join()
    assert not any(one.breaker.is_open for one in processes)
    assert max(slowest) < 2.0
    # What the master had acknowledged and not yet passed on may be lost, of each process the last batch or two; what
    # was in doubt when it was killed may count twice.
    found = sum(written(one)["f"] for one in processes)
    assert abs(sum(calls.values()) - found) <= 10
