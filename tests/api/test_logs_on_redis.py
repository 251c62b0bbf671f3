"""Log entries that wait in Redis: written once and completely, whatever they hold, beside other writers."""

import json
import re
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from api import usage_counts
from api.models import ApiKey, RequestLog, UsageBatch, UsageBucket
from core import clock
from core.limits import counters as counting
from core.limits import log_buffer
from core.limits import redis as redis_counters
from core.limits.counters import Counters, Finished, Limit, RedisCounters
from core.limits.redis import PAUSE_SECONDS, Batch
from devportal.console.models import SignInEvent
from oidc.models import Client
from tests.api.calls import ME, call
from tests.api.conftest import Key
from tests.api.stores import slow_road, stopped
from tests.factories import make_key
from tests.relying_party import RelyingParty

pytestmark = pytest.mark.redis


def entries_in(store: Any) -> int:
    """Return how many log entries Redis holds."""
    number: int = store.llen("entries")
    return number


def left_in(store: Any) -> list[Any]:
    """Return what Redis holds besides limits and what remembers parcels."""
    return [name for name in store.scan_iter() if not name.startswith((b"limit:", b"parcel:"))]


def entry(key: Key, request_id: str = "") -> str:
    """Return an entry of the request log as it waits to be written."""
    values = {"project_id": key.project.pk, "at": time.time(), "status": 200, "milliseconds": 1, "path": ME}
    more = {"request_id": request_id, "method": "GET", "code": "", "credential": "", "client": "", "subject": ""}
    return json.dumps(["request", values | more])


def written() -> list[str]:
    return sorted(RequestLog.objects.values_list("request_id", flat=True))


OPERATIONS = Path(__file__).resolve().parents[2] / "docs" / "operations.md"


def test_the_documented_command_before_a_move_writes_what_waits(
    key: Key, shared: Counters, store: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """No worker runs at that moment, so queueing the task would write nothing."""
    assert call(ME, key.raw).status_code == 200
    shared.send_waiting(0)
    told = OPERATIONS.read_text(encoding="utf-8").partition("To move between a cluster")[2].partition("\n## ")[0]
    (code,) = re.findall(r'manage\.py shell -c "\n(.*?)"\n```', told, re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out == "1 calls were written\n"
    assert (RequestLog.objects.count(), left_in(store)) == (1, [])


def test_the_address_of_a_keys_last_use_is_stored(key: Key, shared: Counters, store: Any) -> None:
    """Counts and log entries are written in separate batches."""
    for hours in range(2):
        ApiKey.objects.update(last_used_at=clock.now() - timedelta(hours=2) if hours else None)
        assert call(ME, key.raw).status_code == 200
        shared.send_waiting(0)
        assert entries_in(store) == 1
        usage_counts.flush_usage()
        row = ApiKey.objects.get(pk=key.row.pk)
        assert row.last_used_at is not None
        assert clock.now() - row.last_used_at < timedelta(minutes=2)
        assert row.last_used_address == "127.0.0.1"


def test_an_entry_travels_with_the_next_call_and_is_written_once(key: Key, shared: Counters, store: Any) -> None:
    ids = {call(ME, key.raw)["X-Request-ID"] for _ in range(5)}
    assert entries_in(store) == 4
    assert sum(map(int, store.hvals("usage"))) == 4
    for _ in range(3):
        usage_counts.flush_usage()
    assert set(RequestLog.objects.values_list("request_id", flat=True)) == ids
    assert RequestLog.objects.count() == UsageBucket.objects.get().count == 5
    assert left_in(store) == []


def test_it_takes_no_second_trip(key: Key, shared: Counters, store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    call(ME, key.raw)
    assert shared.shared is not None
    trips: list[str] = []
    real = shared.shared._execute

    def ask(*asked: Any) -> Any:
        trips.append(asked[0])
        return real(*asked)

    monkeypatch.setattr(shared.shared, "_execute", ask)
    call(ME, key.raw)
    call(ME, key.raw)
    assert trips == ["EVALSHA"] * 2
    assert entries_in(store) == 2
    assert sum(map(int, store.hvals("usage"))) == 2


def test_a_sign_in_that_is_refused_travels_too(app: RelyingParty, spa: Client, shared: Counters, store: Any) -> None:
    response = app.authorize(redirect_uri="https://app.example.com/\U0001f600“é\u202e")
    assert response.status_code == 400
    shared.take([Limit("a", 10)])
    assert entries_in(store) == 1
    usage_counts.flush_usage()
    (entry,) = SignInEvent.objects.filter(client=spa)
    assert entry.request_id == response["X-Request-ID"]
    assert entry.redirect_uri == "https://app.example.com/\U0001f600“é\u202e"


@pytest.mark.parametrize("text", ["\x00", "\udc80", "é" * 10_000, "|log|", '"]', "\n", "\u2028", "\U0010ffff"])
def test_no_content_of_an_entry_makes_a_request_fail(text: str, key: Key, shared: Counters, store: Any) -> None:
    entry = {"project_id": key.project.pk, "at": time.time(), "status": 200, "milliseconds": 1, "path": text}
    log_buffer.append("request", entry)
    assert shared.take([Limit("a", 10)]).allowed
    assert shared.failures == 0
    call(ME, key.raw)
    usage_counts.flush_usage()
    assert UsageBucket.objects.get().count == 1
    assert RequestLog.objects.filter(path="/v1/me").count() == 1
    assert RequestLog.objects.count() == 2


def test_an_entry_that_nobody_can_read_is_settled_with_its_batch(key: Key, shared: Counters, store: Any) -> None:
    call(ME, key.raw)
    garbage = ["garbage", b"\xff\xfe", "", json.dumps(["request", {"at": 1}])]
    store.rpush("entries", *garbage)
    store.hset("usage", mapping={"garbage": 1, b"\xff\xfe": 1})
    usage_counts.flush_usage()
    assert RequestLog.objects.count() == 1
    assert left_in(store) == []


def test_an_outage_loses_no_entry_and_doubles_none(key: Key, shared: Counters, store: Any, redis_url: str) -> None:
    ids = {call(ME, key.raw)["X-Request-ID"]}
    with stopped(redis_url):
        ids |= {call(ME, key.raw)["X-Request-ID"] for _ in range(3)}
    time.sleep(PAUSE_SECONDS)
    ids |= {call(ME, key.raw)["X-Request-ID"] for _ in range(3)}
    usage_counts.flush_usage()
    assert sorted(RequestLog.objects.values_list("request_id", flat=True)) == sorted(ids)
    assert sum(UsageBucket.objects.values_list("count", flat=True)) == len(ids) == 7


# --- Once, and in whole ---


def crash(self: RedisCounters, batch_id: str) -> None:
    raise RuntimeError("killed")


def noted(store: Any, redis_url: str, *entries: str) -> RedisCounters:
    """Return counters that hold these entries on Redis."""
    made = RedisCounters(redis_url)
    made.take([Limit("a", 1000)], Finished(entries=entries))
    assert entries_in(store) == len(entries)
    return made


def test_a_crash_between_writing_and_settling(
    key: Key, shared: Counters, store: Any, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted(store, redis_url, entry(key, "a"), entry(key, "b"))
    with monkeypatch.context() as patch:
        patch.setattr(RedisCounters, "settle", crash)
        with pytest.raises(RuntimeError):
            usage_counts.flush_usage()
    assert written() == ["a", "b"]
    # What comes meanwhile waits behind what is written, and is not taken for it.
    RedisCounters(redis_url).take([Limit("a", 1000)], Finished(entries=[entry(key, "c")]))
    usage_counts.flush_usage()
    usage_counts.flush_usage()
    assert written() == ["a", "b", "c"]
    assert left_in(store) == []


def test_a_crash_after_a_batch_was_taken(key: Key, shared: Counters, store: Any, redis_url: str) -> None:
    made = noted(store, redis_url, entry(key, "a"), entry(key, "b"))
    taken = made.drain_entries()
    # The one that took it is gone; more comes, and another drains.
    made.take([Limit("a", 1000)], Finished(entries=[entry(key, "c")]))
    again = RedisCounters(redis_url).drain_entries()
    assert taken == again
    assert again is not None
    assert len(again[1].entries) == 2
    for _ in range(2):
        usage_counts.flush_usage()
    assert written() == ["a", "b", "c"]
    assert left_in(store) == []


def test_a_batch_that_can_not_be_written_stays(
    key: Key, shared: Counters, store: Any, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted(store, redis_url, entry(key, "a"))

    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(RequestLog.objects, "bulk_create", fail)
        with pytest.raises(RuntimeError):
            usage_counts.flush_usage()
    assert entries_in(store) == 1
    usage_counts.flush_usage()
    assert written() == ["a"]


def test_a_late_settlement_removes_nothing(key: Key, shared: Counters, store: Any, redis_url: str) -> None:
    first = noted(store, redis_url, entry(key, "a"))
    batch = first.drain_entries()
    assert batch is not None
    usage_counts.flush_usage()
    first.take([Limit("a", 1000)], Finished(entries=[entry(key, "b"), entry(key, "c")]))
    second = RedisCounters(redis_url)
    assert second.drain_entries() is not None
    first.settle(batch[0])
    assert entries_in(store) == 2
    usage_counts.flush_usage()
    assert written() == ["a", "b", "c"]


def test_entries_are_written_in_batches_all_in_one_flush(
    key: Key, shared: Counters, store: Any, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (counting, redis_counters):
        monkeypatch.setattr(module, "ENTRIES_A_BATCH", 4)
    names = [f"{number:02}" for number in range(10)]
    noted(store, redis_url, *(entry(key, name) for name in names))
    usage_counts.flush_usage()
    assert written() == names
    assert UsageBatch.objects.count() == 3
    assert left_in(store) == []


def test_a_parcel_that_comes_again_is_logged_and_counted_once(
    key: Key, shared: Counters, store: Any, redis_url: str
) -> None:
    made = RedisCounters(redis_url)
    for name in ("a", "b"):
        batch = Batch(f"parcel-{name}", Finished({"f": 2}, [entry(key, name)]))
        for _ in range(3):
            made.take([Limit("a", 1000)], batch.finished, batch.id)
            made.keep(batch)
    assert entries_in(store) == 2
    assert store.hgetall("usage") == {b"f": b"4"}
    # Remembered for a while, and not for ever.
    assert 0 < store.ttl("parcel:parcel-a") <= 120
    usage_counts.flush_usage()
    assert written() == ["a", "b"]


def test_a_late_answer_is_logged_and_counted_once(key: Key, redis_url: str, store: Any) -> None:
    with slow_road(redis_url) as road:
        made = Counters(RedisCounters(road.url))
        made.logged(entry(key, "a"))
        made.finished("f")
        road.delay = 0.3
        assert made.take([Limit("a", 10)]).allowed
        road.delay = 0.0
        time.sleep(max(0.4, PAUSE_SECONDS))
        made.logged(entry(key, "b"))
        made.finished("f")
        for _ in range(3):
            assert made.take([Limit("a", 10)]).allowed
    assert made.failures == 1
    assert entries_in(store) == 2
    assert store.hgetall("usage") == {b"f": b"2"}
    assert made.local.fields == 0


def test_alike_in_everything_they_are_two(key: Key, shared: Counters, store: Any, redis_url: str) -> None:
    noted(store, redis_url, *2 * [entry(key, "a")])
    usage_counts.flush_usage()
    assert written() == ["a", "a"]


def test_entries_stop_at_a_bound_and_counts_go_on(redis_url: str, store: Any) -> None:
    for _ in range(20):
        store.rpush("entries", *(b"x" for _ in range(9_999)))
    store.rpush("entries", *(b"x" for _ in range(19)))
    assert entries_in(store) == 199_999
    shared = RedisCounters(redis_url)
    shared.take([Limit("a", 10)], Finished({"f": 1}, ["fits", "too many"]))
    shared.take([Limit("a", 10)], Finished({"f": 1}, ["too many"]))
    assert entries_in(store) == 200_000
    assert store.lindex("entries", -1) == b"fits"
    assert store.hgetall("usage") == {b"f": b"2"}
    batch = shared.drain_entries()
    assert batch is not None
    assert len(batch[1].entries) == redis_counters.ENTRIES_A_BATCH
    shared.settle(batch[0])
    shared.take([Limit("a", 10)], Finished({}, ["fits again"]))
    assert store.lindex("entries", -1) == b"fits again"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_writers_that_meet_write_each_entry_once(shared: Counters, store: Any) -> None:
    key, raw = make_key()
    ids: list[str] = []
    done = threading.Event()
    failures: list[Exception] = []

    def write() -> None:
        try:
            while not done.is_set():
                usage_counts.flush_usage()
        except Exception as error:  # noqa: BLE001  (told below)
            failures.append(error)
        finally:
            connections.close_all()

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for _ in range(150):
        ids.append(call(ME, raw)["X-Request-ID"])
    done.set()
    for writer in writers:
        writer.join()
    while usage_counts.flush_usage():
        pass
    assert failures == []
    assert sorted(RequestLog.objects.values_list("request_id", flat=True)) == sorted(ids)
    assert sum(UsageBucket.objects.filter(project=key.project_id).values_list("count", flat=True)) == 150
    assert UsageBatch.objects.count() > 1
