"""Work on database connections at the end of every request, reduced to what is needed.

Django's own receivers go through all connections and caches, at the beginning and at the end of a request. Here, a
connection belongs to a slot (core/serving/slots.py) and is checked once, at the end. Whether a persistent connection
still works is only tested after it was idle for a while (core/database/postgres/base.py).
"""

from typing import Any

from django.conf import settings
from django.core.cache import caches, close_caches
from django.core.cache.backends.base import BaseCache
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connections, reset_queries


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
