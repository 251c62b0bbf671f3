"""Redis stopped, frozen, flushed and far away, under load: nobody waits for it, and nothing counts twice."""

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx
import pytest

from tests.clients.person import PASSWORD
from tests.faults.load import Ledger, Load, declare, load
from tests.faults.rig import ProductionService, Rig, rig
from tests.services.far import FarRoad, road_to

pytestmark = [pytest.mark.slow, pytest.mark.quiet, pytest.mark.redis, pytest.mark.postgres]

WORKERS = 2
FAULT_SECONDS = 4.0
# Every request is answered within 300 ms. Whatever else the machine does makes single ones wait as well, so of a
# hundred one may take longer, though not for long. A sign-in takes the time of its password's hash, and that beside.
BOUND_SECONDS, SHARE, LONGEST_SECONDS = 0.3, 0.99, 1.5
# How long it may take until the processes count together again, and until all usage is in the database.
BACK_SECONDS, WRITTEN_SECONDS = 5.0, 20.0
# A process that idles sends what it counted after 5 s, and the task that writes it runs every 10.
TIME_OUTS_A_SECOND = 1.0
LOST = "The counter store does not respond"


@dataclass
class Harmed:
    """A rig whose Redis is reached by a road that a test may make longer."""

    rig: Rig
    road: FarRoad
    client_id: str
    calls: int = 0  # that were acknowledged, in all tests together

    def usage(self) -> int:
        """Return how many calls have been written down."""
        return int(self.rig.postgres.execute("SELECT COALESCE(sum(count), 0) FROM api_usagebucket")[0][0])

    def entries(self) -> int:
        """Return how many entries the request log has."""
        return int(self.rig.postgres.execute("SELECT count(*) FROM api_requestlog")[0][0])

    def failures(self) -> int:
        """Return how often a process has waited for Redis in vain."""
        return self.rig.service.logged().count(LOST)

    def counted_together(self) -> int:
        """Return how many requests Redis has counted since it started."""
        found = self.rig.redis.client.info("commandstats").get("cmdstat_evalsha", {"calls": 0})
        return int(found["calls"])


@dataclass
class Fault:
    """What is noted while Redis is harmed."""

    running: Load
    sign_ins: Ledger = field(default_factory=Ledger)
    began: float = 0.0
    usual: float = 0.0  # seconds of a sign-in without a fault


@pytest.fixture(scope="module")
def harmed() -> Iterator[Harmed]:
    with rig(start=False, workers=WORKERS) as made, road_to(made.redis.port) as road:
        # Celery has the straight road; what it does is not what is measured.
        celery = made.service.start_celery("worker", "--beat", "-c", "1", "--schedule", str(made.service.home / "beat"))
        made.service.settings["REDIS_URL"] = f"redis://127.0.0.1:{road.port}/0"
        made.service.start()
        yield Harmed(made, road, declare(made.service, 4))
        assert celery.poll() is None


def sign_in(service: ProductionService, ledger: Ledger) -> Callable[[threading.Event], None]:
    """Return a loop in which someone signs in with a new browser, again and again."""

    def run(over: threading.Event) -> None:
        for number in itertools.count():
            if over.wait(0.3):
                return
            with service.client(address=f"192.0.2.{number % 200 + 10}") as browser:
                browser.get("/account/login/")
                token = browser.cookies.get("__Host-openport_csrf") or ""
                form = {"login": "p0@example.com", "password": PASSWORD, "csrfmiddlewaretoken": token}
                ledger.observe("sign-in", lambda: _post(browser, form))  # noqa: B023  (called at once)

    return run


def _post(browser: httpx.Client, form: dict[str, str]) -> httpx.Response:
    return browser.post("/account/login/", data=form, headers={"Referer": str(browser.base_url)})


@contextlib.contextmanager
def under_load(harmed: Harmed) -> Iterator[Fault]:
    """Yield a load, with someone who signs in beside it. Whatever comes, each request is answered as usual."""
    with load(harmed.rig.service, harmed.client_id, apps=3) as running:
        fault = Fault(running)
        running.begin(sign_in(harmed.rig.service, fault.sign_ins))
        while len(fault.sign_ins.requests) < 2:
            time.sleep(0.05)
        fault.usual = fault.sign_ins.percentile(0.5)
        fault.began = time.monotonic()
        yield fault
    harmed.calls += running.ledger.calls
    assert running.ledger.difference(harmed.rig.postgres) == []
    assert running.ledger.outcomes() == {"200"}
    assert running.probes.outcomes() == {"200"}
    assert fault.sign_ins.outcomes() == {"302"}


def check_waits(fault: Fault) -> None:
    """Check how long requests took since the fault began."""
    for ledger in (fault.running.ledger, fault.running.probes):
        assert ledger.percentile(SHARE, since=fault.began) <= BOUND_SECONDS
        assert ledger.slowest(since=fault.began) <= LONGEST_SECONDS
    assert fault.sign_ins.percentile(0.5, since=fault.began) <= 2 * fault.usual + BOUND_SECONDS
    assert len(fault.running.ledger.requests) > 50


def check_time_outs(harmed: Harmed, before: int) -> None:
    """Check that a process asked once a second; at the beginning each of its four slots may have been asking."""
    at_first = WORKERS * 5
    assert 1 <= harmed.failures() - before <= at_first + WORKERS * (FAULT_SECONDS + 2) * TIME_OUTS_A_SECOND


def wait_until_shared(harmed: Harmed) -> None:
    """Wait until Redis counts requests again."""
    before, deadline = harmed.counted_together(), time.monotonic() + BACK_SECONDS
    while time.monotonic() < deadline:
        if harmed.counted_together() >= before + 20:
            return
        time.sleep(0.1)
    raise AssertionError("the processes do not count together again")


def wait_for(what: Callable[[], int], least: int) -> int:
    """Wait until a number is reached, and a moment longer; return what it is then."""
    deadline = time.monotonic() + WRITTEN_SECONDS
    while what() < least and time.monotonic() < deadline:
        time.sleep(0.2)
    return what()


def test_one_call_of_an_idle_process_is_written_by_time(harmed: Harmed) -> None:
    usage = harmed.usage()
    with load(harmed.rig.service, harmed.client_id, apps=1, pause=60) as running:
        while not running.ledger.calls:
            time.sleep(0.05)
        harmed.calls += running.ledger.calls
        # Beside it only discovery and keys are asked for, which count nothing.
        assert wait_for(harmed.usage, usage + 1) == usage + 1


def test_frozen(harmed: Harmed) -> None:
    usage, entries, failures = harmed.usage(), harmed.entries(), harmed.failures()
    with under_load(harmed) as fault:
        with harmed.rig.redis.frozen():
            time.sleep(FAULT_SECONDS)
        check_time_outs(harmed, failures)
        wait_until_shared(harmed)
    # Nothing is lost, and nothing counted twice: neither what Redis took up when it went on, nor what is sent again.
    assert wait_for(harmed.usage, usage + fault.running.ledger.calls) == usage + fault.running.ledger.calls
    assert wait_for(harmed.entries, entries + fault.running.ledger.calls) == entries + fault.running.ledger.calls
    check_waits(fault)


def test_70_ms_away(harmed: Harmed) -> None:
    usage, failures = harmed.usage(), harmed.failures()
    with under_load(harmed) as fault:
        harmed.road.keep_back(0.07)
        time.sleep(FAULT_SECONDS)
        harmed.road.keep_back(0)
        check_time_outs(harmed, failures)
        wait_until_shared(harmed)
    assert wait_for(harmed.usage, usage + fault.running.ledger.calls) == usage + fault.running.ledger.calls
    check_waits(fault)


def test_stopped(harmed: Harmed) -> None:
    usage, failures = harmed.usage(), harmed.failures()
    with under_load(harmed) as fault:
        harmed.rig.redis.stop()
        lost_at_most = fault.running.ledger.calls
        time.sleep(FAULT_SECONDS)
        check_time_outs(harmed, failures)
        harmed.rig.redis.start()
        wait_until_shared(harmed)
    # What was in Redis is gone with it: at most what came since it was last written down, here at most all before.
    least = usage + fault.running.ledger.calls - lost_at_most
    assert least <= wait_for(harmed.usage, least) <= harmed.calls
    check_waits(fault)


def test_flushed(harmed: Harmed) -> None:
    usage = harmed.usage()
    with under_load(harmed) as fault:
        for _ in range(8):
            harmed.rig.redis.client.flushall()
            lost_at_most = fault.running.ledger.calls
            time.sleep(0.2)
        wait_until_shared(harmed)
    least = usage + fault.running.ledger.calls - lost_at_most
    assert least <= wait_for(harmed.usage, least) <= harmed.calls
    check_waits(fault)
