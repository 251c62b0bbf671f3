"""Usage of the developer API: counted together with the limits, stored in batches with the logs."""

import logging
import re
import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from multiprocessing.util import Finalize
from typing import NamedTuple

from django.db import DatabaseError, connections, transaction

from api import errors, request_log
from api.models import LATENCY_EDGES_MS, ApiKey, UsageBatch
from api.usage import store
from api.usage.store import UsageCount, series
from devportal.lib import clock, count_buffer, log_buffer
from devportal.lib.ratelimit.counters import Finished, LocalCounters, RedisCounters, counters
from devportal.lib.worker_start import at_worker_start

__all__ = ["CallLabels", "CallOwner", "flush_at_exit", "flush_usage", "record_call", "send_when_idle", "series"]

log = logging.getLogger(__name__)

LAST_USED_INTERVAL = timedelta(hours=1)
# How long a finished call waits in a process for a request to travel with, and how often a timer looks.
IDLE_SECONDS = 5.0
TICK_SECONDS = 2.0
_SEPARATOR = "|"
# A field as `record_call` formats it: project, key, client, endpoint, status, code, minute, latency class.
_FIELD = re.compile(
    r"(\d{1,18})\|([!-{}~]{0,16})\|([!-{}~]{0,255})\|([!-{}~]{1,32})\|(\d{3})\|([!-{}~]{0,32})\|(\d{1,9})\|([0-7])",
    re.ASCII,
)


class CallOwner(NamedTuple):
    """The caller of a finished call: project, public id of the key or client id, and the person's `sub`."""

    project: int
    key: str = ""
    client: str = ""
    sub: str = ""


class CallLabels(NamedTuple):
    """The dimensions that a call is counted by, besides minute and latency class."""

    project: int
    credential: str
    client: str
    endpoint: str
    status: int
    code: str


def record_call(kind: CallLabels, seconds: float) -> None:
    """Count one finished call, which took `seconds`; it is stored with the next batch."""
    milliseconds = seconds * 1000
    latency = next(
        (place for place, edge in enumerate(LATENCY_EDGES_MS) if milliseconds <= edge), len(LATENCY_EDGES_MS)
    )
    minute = clock.timestamp() // 60
    parts = (kind.project, kind.credential, kind.client, kind.endpoint, kind.status, kind.code, minute, latency)
    counters().finished(_SEPARATOR.join(map(str, parts)))


def flush_usage() -> int:
    """Store every waiting batch; return how many calls it held.

    A batch is written once: its id is stored in the same transaction, so one that a crash left behind in Redis after
    it was written is only forgotten.
    """
    return _write_batches(counters().drain())


def _write_batches(batches: Iterable[tuple[LocalCounters | RedisCounters, str, Finished]]) -> int:
    written = 0
    for holder, batch_id, finished in batches:
        try:
            with transaction.atomic():
                _, is_new = UsageBatch.objects.get_or_create(batch_id=batch_id)
                if is_new:
                    written += _write(finished)
                else:
                    log.info("The usage batch %s is written already.", batch_id)
        except Exception:
            if isinstance(holder, LocalCounters):
                holder.give_back(finished)
            raise
        holder.settle(batch_id)
    return written


def _write(finished: Finished) -> int:
    """Write counts and log entries; return how many calls there were."""
    of_calls = count_buffer.write_counts(finished.counts)
    counts = [_count(field, calls) for field, calls in of_calls.items()]
    readable = [count for count in counts if count is not None]
    _note_keys_used(store.add_counts(readable), request_log.addresses_of_keys(finished.entries))
    log_buffer.write_entries(finished.entries)
    return sum(count.calls for count in readable)


def _count(field: str, calls: int) -> UsageCount | None:
    """Parse a field; return None for one of another version, so that it does not stop the others."""
    found = _FIELD.fullmatch(field)
    if found is None:
        log.warning("A count that can't be read is left out: %.200r", field)
        return None
    project, credential, client, endpoint, status, code, minute, latency = found.groups()
    return UsageCount(int(project), credential, client, endpoint, int(status), code, int(minute), int(latency), calls)


def _note_keys_used(counts: Iterable[UsageCount], addresses: dict[str, str]) -> None:
    """Set when and from which address the keys that were accepted were last used, at most once an hour each."""
    latest: dict[str, int] = {}
    for count in counts:
        if count.credential and count.code not in errors.DEAD_CREDENTIAL:
            latest[count.credential] = max(latest.get(count.credential, 0), count.minute)
    for public_id, last_minute in sorted(latest.items()):
        moment = datetime.fromtimestamp(last_minute * 60, UTC)
        keys = ApiKey.objects.filter(public_id=public_id)
        (keys.filter(last_used_at=None) | keys.filter(last_used_at__lt=moment - LAST_USED_INTERVAL)).update(
            last_used_at=moment, last_used_address=addresses.get(public_id)
        )


@at_worker_start
def send_when_idle() -> None:
    """Start a timer that sends what waits in this process, whether or not another request comes."""
    if counters().shared is not None:
        threading.Thread(target=_send_for_ever, daemon=True, name="usage").start()


def _send_for_ever() -> None:
    while True:
        time.sleep(TICK_SECONDS)
        try:
            send_late()
        except Exception:
            log.exception("What this process counted could not be written; it is tried again.")


def send_late() -> None:
    """Send what has waited for IDLE_SECONDS to Redis; without it, write what this process counted by itself."""
    here = counters()
    here.send_waiting(IDLE_SECONDS)
    if here.breaker.is_open and here.local.fields:
        try:
            _write_batches(here.drain_here())
        finally:
            connections.close_all()  # this thread's own; it needs none while Redis answers


@at_worker_start
def flush_at_exit() -> None:
    """Flush when this process stops cleanly (`atexit` does not run in a granian worker)."""
    Finalize(None, _flush_last, exitpriority=10)


def _flush_last() -> None:
    try:
        flush_usage()
    except DatabaseError:
        log.exception("What was counted last could not be written: the database is away.")
