"""A logging filter for lost dependencies: a line for each request at most, and a traceback a minute.

While PostgreSQL or Redis is away, every request fails in the same way, often at several places. What an operator needs
is that it happens, how often, and one traceback (docs/operations.md#logs).
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from django.db import InterfaceError, OperationalError
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from devportal.lib import request_id

TRACEBACK_SECONDS = 60.0
# Outside of a request, the same line is written so often at most.
REPEAT_SECONDS = 10.0
# So many requests are remembered.
MOST_REMEMBERED = 4096
LONGEST_ERROR = 300

# A broker's error is often one of Redis underneath, and a database's one of a socket: the first that fits counts.
KINDS: tuple[tuple[str, tuple[type[BaseException], ...]], ...] = (
    ("database", (OperationalError, InterfaceError)),
    ("broker", (BrokerError,)),
    ("redis", (RedisError,)),
    ("network", (ConnectionError, TimeoutError)),
)
# Loggers whose warnings say that Redis is away, without an exception.
OF_REDIS = "devportal.lib.ratelimit."


def outage_of(record: logging.LogRecord) -> str | None:
    """Return which dependency a record says is lost, None for any other record."""
    if record.levelno < logging.WARNING:
        return None
    if record.exc_info:
        errors = list(_chain(record.exc_info[1]))
        return next((kind for kind, types in KINDS if any(isinstance(error, types) for error in errors)), None)
    return "redis" if record.name.startswith(OF_REDIS) else None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


class OutageFilter(logging.Filter):
    """Lets pass one record of a lost dependency for each request or task, and cuts most tracebacks to a line."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._requests: OrderedDict[str, None] = OrderedDict()
        self._last_line: dict[tuple[str, str], float] = {}
        self._last_traceback: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        request = request_id.current()
        kind = outage_of(record)
        if kind is None:
            # Django adds a line for the status of the answer.
            is_status = record.name == "django.request" and getattr(record, "status_code", 0) >= 500
            return not (is_status and not record.exc_info and request in self._requests)
        with self._lock:
            if not self._is_new(record, kind, request):
                return False
            now = time.monotonic()
            with_traceback = now - self._last_traceback.get(kind, -TRACEBACK_SECONDS) >= TRACEBACK_SECONDS
            if record.exc_info and with_traceback:
                self._last_traceback[kind] = now
        if record.exc_info and not with_traceback:
            _cut(record)
        return True

    def _is_new(self, record: logging.LogRecord, kind: str, request: str) -> bool:
        if request != request_id.NONE:
            if (request, kind) in self._told:
                return False
            _remember(self._told, (request, kind))
            _remember(self._requests, request)
            return True
        now, line = time.monotonic(), (record.name, kind)
        if now - self._last_line.get(line, -REPEAT_SECONDS) < REPEAT_SECONDS:
            return False
        self._last_line[line] = now
        return True


def _remember(among: "OrderedDict[Any, None]", key: Any) -> None:
    among[key] = None
    while len(among) > MOST_REMEMBERED:
        among.popitem(last=False)


def _cut(record: logging.LogRecord) -> None:
    """Replace a record's traceback by the name and the first line of its error."""
    error = record.exc_info[1] if record.exc_info else None
    words = " ".join(str(error).split())[:LONGEST_ERROR]
    record.msg = f"{record.getMessage()} ({type(error).__name__}: {words})"
    record.args, record.exc_info, record.exc_text = (), None, None
