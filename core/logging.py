"""Log entries: JSON for machines, and filters that redact, shorten and count them."""

import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError
from kombu.exceptions import OperationalError as BrokerError
from pythonjsonlogger.json import JsonFormatter
from redis.exceptions import RedisError

from core.http import request_id

LONGEST_REFUSAL = 300

# A JWT (three base64url parts with dots), and values after the name of a secret parameter.
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,4}")
_NAMED = re.compile(
    r"(?i)\b(code|code_verifier|client_secret|refresh_token|access_token|id_token|id_token_hint|password|token"
    r"|secret|api_?key|sessionid|csrftoken|csrfmiddlewaretoken)"
    r"(['\"]?\s*[=:,]\s*['\"]?)(?!\[)([^\s&'\",}”]{6,})"
)
_SPOKEN = re.compile(r"(?i)\b((?:refresh|access) token|code|verifier) [A-Za-z0-9._~-]{20,}")
_COOKIE = re.compile(r"(?i)\b((?:set-)?cookie['\"]?\s*:\s*)[^\r\n]{6,}")
# The user name and password in a URL, for example of a database or a broker.
_USERINFO = re.compile(r"(?<=://)[^\s/@]*:[^\s/@]+(?=@)")
_BASIC = re.compile(r"(?i)\b(basic|bearer)\s+[A-Za-z0-9._~+/=-]{6,}")


def redact(text: str) -> str:
    """Return `text` with everything that looks like a credential replaced (defence in depth)."""
    text = _JWT.sub("[token]", text)
    text = _COOKIE.sub(r"\1[cookie]", text)
    text = _USERINFO.sub("[credential]", text)
    text = _BASIC.sub(r"\1 [credential]", text)
    text = _SPOKEN.sub(r"\1 [redacted]", text)
    text = _NAMED.sub(r"\1\2[redacted]", text)
    for cookie in (settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME):
        cookie = cookie.removeprefix("__Host-")  # `\b` does not match before it
        text = re.sub(rf"\b{re.escape(cookie)}=[^\s;,'\"]+", f"{cookie}=[redacted]", text)
    for prefix in (settings.CLIENT_SECRET_PREFIX, settings.API_KEY_PREFIX):
        text = re.sub(re.escape(prefix) + r"[A-Za-z0-9_]+", f"{prefix}[redacted]", text)
    return text


class RedactingFilter(logging.Filter):
    """Rewrites a record, including arguments and traceback, so that no credential reaches a handler."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


class RefusalFilter(logging.Filter):
    """Shortens records of refused requests (4xx) to one line, and drops those above a maximum per minute.

    Django adds the traceback of the exception, which does not help here, and which anyone can trigger.
    """

    def __init__(self, per_minute: int) -> None:
        super().__init__()
        self._per_minute = per_minute
        self._lock = threading.Lock()
        self._minute, self._written, self._dropped = 0, 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        if not 400 <= getattr(record, "status_code", 0) < 500:
            return True
        with self._lock:
            minute = int(time.monotonic() // 60)
            if minute != self._minute:
                self._minute, self._written = minute, 0
            if self._written >= self._per_minute:
                self._dropped += 1
                return False
            self._written += 1
            dropped, self._dropped = self._dropped, 0
        text = record.getMessage().replace("\n", " ")[:LONGEST_REFUSAL]
        record.msg = f"{text} ({dropped} similar lines were dropped)" if dropped else text
        record.args, record.exc_info, record.exc_text = (), None, None
        return True


class RequestIdFilter(logging.Filter):
    """Adds the current request id to the record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.current()
        return True


# While PostgreSQL or Redis is unavailable, every request fails in the same way, often in several places. Operators need
# to know that it happens, how often, and one traceback (docs/operations.md#logs).

TRACEBACK_SECONDS = 60.0
# Outside of requests, the same line is written at most once in this many seconds.
REPEAT_SECONDS = 10.0
# The number of requests that are remembered.
MOST_REMEMBERED = 4096
LONGEST_ERROR = 300

# A broker's error often contains one of Redis, and a database's one of a socket: the first match counts.
KINDS: tuple[tuple[str, tuple[type[BaseException], ...]], ...] = (
    ("database", (OperationalError, InterfaceError)),
    ("broker", (BrokerError,)),
    ("redis", (RedisError,)),
    ("network", (ConnectionError, TimeoutError)),
)
# Loggers whose warnings mean that Redis is unavailable, without an exception.
OF_REDIS = "core.limits."


def outage_of(record: logging.LogRecord) -> str | None:
    """Return the dependency whose outage a record reports, None for any other record."""
    if record.levelno < logging.WARNING:
        return None
    if record.exc_info:
        errors = list(_chain(record.exc_info[1]))
        return next((kind for kind, types in KINDS if any(isinstance(error, types) for error in errors)), None)
    return "redis" if record.name.startswith(OF_REDIS) else None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    visited: set[int] = set()
    while error is not None and id(error) not in visited:
        visited.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


class OutageFilter(logging.Filter):
    """Lets through one record about an outage for each request or task, and shortens most tracebacks to a line."""

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
            # Django logs another line for the status of the response.
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


# Attribute of the record -> name in the log line.
FIELDS = {"levelname": "level", "name": "logger", "exc_info": "exception", "stack_info": "stack"}
# Extra attributes that hold objects: Django's request, whose text contains the query, and Celery's copy of the message.
LEFT_OUT = ("data", "request", "server_time")
SECRET_NAME = re.compile(r"(?i)secret|password|token|cookie|authorization|api_?key|session|code_verifier")
DEEPEST = 4


class RedactingJsonFormatter(JsonFormatter):
    """Formats a record with its extra fields, and redacts every text in it, tracebacks included."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("%(levelname)s %(name)s %(request_id)s %(message)s", rename_fields=FIELDS, timestamp="time")

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        """Return the fields as they are written."""
        time = log_data.pop("time")
        return {"time": time.isoformat(timespec="milliseconds")} | {
            name: plain_value(name, value, DEEPEST) for name, value in log_data.items() if name not in LEFT_OUT
        }

    def formatException(self, ei: Any) -> str:  # noqa: N802  # logging's name
        """Return the traceback, redacted; line ends are escaped with the rest of the object."""
        return redact(logging.Formatter().formatException(ei))


def plain_value(name: str, value: Any, depth: int) -> Any:
    """Return a redacted value that JSON can hold; objects become their type name, since their text may hold secrets."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if SECRET_NAME.search(name):
        return "[redacted]"
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict) and depth:
        return {redact(str(key)): plain_value(str(key), inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth:
        return [plain_value(name, inner, depth - 1) for inner in value]
    return type(value).__name__
