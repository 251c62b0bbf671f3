"""Log lines as JSON, one object per line (LOG_FORMAT=json)."""

import logging
import re
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from core.logging.filters import redact

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
            name: _plain(name, value, DEEPEST) for name, value in log_data.items() if name not in LEFT_OUT
        }

    def formatException(self, ei: Any) -> str:  # noqa: N802  # logging's name
        """Return the traceback, redacted; line ends are escaped with the rest of the object."""
        return redact(logging.Formatter().formatException(ei))


def _plain(name: str, value: Any, depth: int) -> Any:
    """Return a redacted value that JSON can hold; objects become their type name, since their text may hold secrets."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if SECRET_NAME.search(name):
        return "[redacted]"
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict) and depth:
        return {redact(str(key)): _plain(str(key), inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth:
        return [_plain(name, inner, depth - 1) for inner in value]
    return type(value).__name__
