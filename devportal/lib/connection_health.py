"""Health checks of persistent database connections: only after they were idle for a while.

Django asks `SELECT 1` in every request; a connection that answered a moment ago is taken at its word, and the request
that meets a broken one answers as for any lost database, after which Django opens another.
"""

import time
from typing import Any

from django.core.signals import request_finished, request_started
from django.db import connections

FRESH_SECONDS = 5.0


def skip_recent_health_checks() -> None:
    """Install this in a worker process; after Django's own receivers, which ask for the check."""
    request_started.connect(_trust_recent, dispatch_uid="connections.trust_recent")
    request_finished.connect(_note_use, dispatch_uid="connections.note_use")


def _trust_recent(**kwargs: Any) -> None:
    for connection in connections.all(initialized_only=True):
        last_used = getattr(connection, "last_used", 0.0)
        if connection.connection is not None and time.monotonic() - last_used < FRESH_SECONDS:
            connection.health_check_done = True  # type: ignore[attr-defined]


def _note_use(**kwargs: Any) -> None:
    for connection in connections.all(initialized_only=True):
        connection.last_used = time.monotonic()  # type: ignore[attr-defined]
