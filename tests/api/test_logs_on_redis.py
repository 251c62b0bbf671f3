"""Log entries that wait in Redis: written once, in whole, whatever they hold and whoever writes at the same time."""

import json
import threading
import time
from typing import Any

import pytest
import redis
from django.db import connections

from api.models import RequestLog, UsageBatch, UsageBucket
from api.usage import recording
from devportal.console.models import SignInEvent
from devportal.lib import log_buffer
from devportal.lib.ratelimit import counters as counting
from devportal.lib.ratelimit.counters import Counters, Limit, RedisCounters
from oidc.models import Client
from tests.api.calls import ME, call
from tests.api.conftest import Key
from tests.api.stores import stopped
from tests.factories import make_key
from tests.relying_party import RelyingParty

pytestmark = pytest.mark.redis

MODULES = ("api.throttling", "api.usage.recording", "devportal.lib.ratelimit.limits", "devportal.lib.log_buffer")


@pytest.fixture
def store(redis_url: str) -> Any:
    client = redis.Redis.from_url(redis_url)
    client.flushall()
    return client


@pytest.fixture
def shared(redis_url: str, store: Any, monkeypatch: pytest.MonkeyPatch) -> Counters:
    """The service's counters, on Redis."""
    made = Counters(RedisCounters(redis_url))
    for module in MODULES:
        monkeypatch.setattr(f"{module}.counters", lambda: made)
    return made


def entries_in(store: Any) -> int:
    """Return how many log entries Redis holds."""
    names = [*store.scan_iter("usage*")]
    return sum(name.decode().startswith(counting.LOG_ENTRY_PREFIX) for key in names for name in store.hkeys(key))


def test_an_entry_travels_with_the_next_call_and_is_written_once(key: Key, shared: Counters, store: Any) -> None:
    ids = {call(ME, key.raw)["X-Request-ID"] for _ in range(5)}
    assert entries_in(store) == 4
    for _ in range(3):
        recording.flush_usage()
    assert set(RequestLog.objects.values_list("request_id", flat=True)) == ids
    assert RequestLog.objects.count() == 5
    assert not [*store.scan_iter("usage*"), *store.scan_iter("batches")]


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
            recording.flush_usage()
    recording.flush_usage()
    assert RequestLog.objects.count() == 2


def test_a_sign_in_that_is_refused_travels_too(app: RelyingParty, spa: Client, shared: Counters, store: Any) -> None:
    response = app.authorize(redirect_uri="https://app.example.com/\U0001f600“é\u202e")
    assert response.status_code == 400
    shared.take([Limit("a", 10)])
    assert entries_in(store) == 1
    recording.flush_usage()
    (entry,) = SignInEvent.objects.filter(client=spa)
    assert entry.request_id == response["X-Request-ID"]
    assert entry.redirect_uri == "https://app.example.com/\U0001f600“é\u202e"


@pytest.mark.parametrize("text", ["\x00", "\udc80", "é" * 10_000, "|log|", '"]', "\n", "\u2028", "\U0010ffff"])
def test_whatever_an_entry_holds_no_request_fails(text: str, key: Key, shared: Counters, store: Any) -> None:
    entry = {"project_id": key.project.pk, "at": time.time(), "status": 200, "milliseconds": 1, "path": text}
    log_buffer.append("request", entry)
    assert shared.take([Limit("a", 10)]).allowed
    assert shared.failures == 0
    call(ME, key.raw)
    recording.flush_usage()
    assert UsageBucket.objects.get().count == 1
    assert RequestLog.objects.filter(path="/v1/me").count() == 1
    assert RequestLog.objects.count() == 2


def test_an_entry_that_nobody_can_read_is_settled_with_its_batch(key: Key, shared: Counters, store: Any) -> None:
    call(ME, key.raw)
    store.hset("usage", mapping={"log|garbage": 1, b"\xff\xfe": 1, "log|" + json.dumps(["request", {"at": 1}]): 1})
    recording.flush_usage()
    assert RequestLog.objects.count() == 1
    assert not [*store.scan_iter("usage*")]


def test_an_outage_loses_no_entry_and_doubles_none(key: Key, shared: Counters, store: Any, redis_url: str) -> None:
    ids = {call(ME, key.raw)["X-Request-ID"]}
    with stopped(redis_url):
        ids |= {call(ME, key.raw)["X-Request-ID"] for _ in range(3)}
    time.sleep(counting.REDIS_PAUSE_SECONDS)
    ids |= {call(ME, key.raw)["X-Request-ID"] for _ in range(3)}
    recording.flush_usage()
    assert sorted(RequestLog.objects.values_list("request_id", flat=True)) == sorted(ids)
    assert sum(UsageBucket.objects.values_list("count", flat=True)) == len(ids) == 7


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
                recording.flush_usage()
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
    while recording.flush_usage():
        pass
    assert failures == []
    assert sorted(RequestLog.objects.values_list("request_id", flat=True)) == sorted(ids)
    assert sum(UsageBucket.objects.filter(project=key.project_id).values_list("count", flat=True)) == 150
    assert UsageBatch.objects.count() > 1
