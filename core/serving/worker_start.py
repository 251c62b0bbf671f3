"""The start of a worker process: its database connections, and garbage collection that skips what was loaded before.

Django's own receivers go through all connections and caches, at the beginning and at the end of a request. Here, a
connection belongs to a slot (core/serving/slots.py) and is checked once, at the end. Whether a persistent connection
still works is only tested after it was idle for a while (core/database/postgres/base.py).
"""

import gc
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.cache import caches, close_caches
from django.core.cache.backends.base import BaseCache
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connections, reset_queries
from django.urls import get_resolver

from core.database.postgres import limits


def look_after_slots() -> None:
    """Replace Django's receivers; call this in a worker process, whose connections belong to slots."""
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    request_finished.connect(_end_request, dispatch_uid="connections.end_request")
    if not settings.DEBUG:  # Django only records queries when DEBUG is on
        request_started.disconnect(reset_queries)
    if all(type(caches[alias]).close is BaseCache.close for alias in settings.CACHES):
        request_finished.disconnect(close_caches)


def _end_request(**kwargs: Any) -> None:
    for alias in settings.DATABASES:
        connection = connections[alias]
        if connection.connection is not None:
            connection.close_if_unusable_or_obsolete()
        if hasattr(connection, "end_request"):
            connection.end_request()


def freeze_loaded_objects() -> None:
    """Exempt everything that is loaded now from garbage collection; call this last, when a process starts.

    A full collection would scan hundreds of thousands of modules, classes and settings that are never deleted, and take
    longer than many requests. It also writes to each of them: without this call, forked workers would copy the memory
    that they share with their parent at their first collection.
    """
    # Import the views now: the first request would otherwise add as many objects again.
    _ = get_resolver().url_patterns
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 10, 10)  # Python's own, which manage.py raises for the time of the start


Start = Callable[[], None]

# Functions with the decorator `at_worker_start`, in the order in which their modules were imported.
STARTS: list[Start] = []


def at_worker_start(function: Start) -> Start:
    """Make each worker process call a function when it starts; its app imports the module in `ready`."""
    STARTS.append(function)
    return function


def run_starts() -> None:
    """Call all registered functions in this worker process."""
    limits.apply_to_requests()
    look_after_slots()
    for start in STARTS:
        start()
    freeze_loaded_objects()
