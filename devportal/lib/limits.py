"""Limits by django-ratelimit, in one place and in one way: fixed windows of a minute.

A lost counter store does not stop the service: a bounded count in the process takes over, and a warning is logged.
(Sign-in itself is different: allauth's brute-force limits fail closed, as a "try again" page.)
"""

import logging
import threading
import time
from collections import OrderedDict

from django.http import HttpRequest
from django_ratelimit.core import get_usage

log = logging.getLogger(__name__)

WINDOW_SECONDS = 60
# How many counters the process keeps while the store is lost; the oldest give way.
LOCAL_COUNTERS = 10_000


class Limited(Exception):
    """Too many requests; `retry_after` is a whole number of seconds from 1 to 60."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many requests; again in {retry_after} s")
        self.retry_after = min(max(int(retry_after), 1), WINDOW_SECONDS)


class _LocalCounters:
    """Counts in this process alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: OrderedDict[tuple[str, str, int], int] = OrderedDict()

    def count(self, group: str, key: str, increment: bool) -> tuple[int, int]:
        """Return the count in this window, and the seconds left in it."""
        moment = int(time.time())
        place = (group, key, moment // WINDOW_SECONDS)
        with self._lock:
            counted = self._counts.get(place, 0) + increment
            self._counts[place] = counted
            while len(self._counts) > LOCAL_COUNTERS:
                self._counts.popitem(last=False)
        return counted, WINDOW_SECONDS - moment % WINDOW_SECONDS


_local = _LocalCounters()


def check(request: HttpRequest, group: str, key: str, per_minute: int, *, increment: bool = True) -> None:
    """Count a request under `key` in `group`, or only look. Raises Limited beyond `per_minute`."""
    try:
        usage = get_usage(
            request, group=group, key=lambda group, request: key, rate=(per_minute, WINDOW_SECONDS), increment=increment
        )
        count, left = usage["count"], usage["time_left"]
    except Exception:  # whatever the store's client raises: django-ratelimit's own fail-open does not catch it
        log.warning("The counter store does not answer; limits are counted in this process.", exc_info=True)
        count, left = _local.count(group, key, increment)
    if count > per_minute or (not increment and count >= per_minute):
        raise Limited(left)
