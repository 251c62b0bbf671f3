"""What is done for a database connection at both ends of every request: no more than is needed.

A persistent connection is checked only after it was idle for a while. Django asks `SELECT 1` in every request; a
connection that answered a moment ago is taken at its word, and the request that meets a broken one answers as for any
lost database, after which Django opens another.
"""

import time
from typing import Any

from django.conf import settings
from django.core.cache import caches, close_caches
from django.core.cache.backends.base import BaseCache
from django.core.signals import request_finished, request_started
from django.db import connections, reset_queries

from devportal.lib.postgres.limits import Patience

FRESH_SECONDS = 5.0


def skip_recent_health_checks() -> None:
    """Install this in a worker process; after Django's own receivers, which ask for the check."""
    request_started.connect(_trust_recent, dispatch_uid="connections.trust_recent")
    request_finished.connect(_note_use, dispatch_uid="connections.note_use")


def disconnect_idle_receivers() -> None:
    """Disconnect Django's receivers that have nothing to do here, but walk through all connections and caches.

    They forget logged queries, which are logged with DEBUG only, and close caches, which ours need not be.
    """
    if not settings.DEBUG:
        request_started.disconnect(reset_queries)
    if all(type(caches[alias]).close is BaseCache.close for alias in settings.CACHES):
        request_finished.disconnect(close_caches)


# There is a connection to each database for each slot (devportal/lib/server/slots.py).


def _trust_recent(**kwargs: Any) -> None:
    for alias in settings.DATABASES:
        connection = connections[alias]
        if isinstance(patience := getattr(connection, "patience", None), Patience):
            patience.renew()
        last_used = getattr(connection, "last_used", 0.0)
        if connection.connection is not None and time.monotonic() - last_used < FRESH_SECONDS:
            connection.health_check_done = True  # type: ignore[attr-defined]


def _note_use(**kwargs: Any) -> None:
    for alias in settings.DATABASES:
        connections[alias].last_used = time.monotonic()  # type: ignore[attr-defined]
