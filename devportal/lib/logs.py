"""Logging filters: request id, redaction of credentials, and a limit for refused requests."""

import logging
import re
import threading
import time

from django.conf import settings

from devportal.lib import request_id

LONGEST_REFUSAL = 300

# A JWT (three dotted base64url parts), and anything that follows the name of a secret parameter.
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,4}")
_NAMED = re.compile(
    r"(?i)\b(code|code_verifier|client_secret|refresh_token|access_token|id_token|id_token_hint|password|token"
    r"|secret|api_?key|sessionid|csrftoken|csrfmiddlewaretoken)"
    r"(['\"]?\s*[=:,]\s*['\"]?)(?!\[)([^\s&'\",}”]{6,})"
)
_SPOKEN = re.compile(r"(?i)\b((?:refresh|access) token|code|verifier) [A-Za-z0-9._~-]{20,}")
_COOKIE = re.compile(r"(?i)\b((?:set-)?cookie['\"]?\s*:\s*)[^\r\n]{6,}")
# The password in an address, of a database or a broker for instance.
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
        cookie = cookie.removeprefix("__Host-")  # no word begins before it
        text = re.sub(rf"\b{re.escape(cookie)}=[^\s;,'\"]+", f"{cookie}=[redacted]", text)
    for prefix in (settings.CLIENT_SECRET_PREFIX, settings.API_KEY_PREFIX):
        text = re.sub(re.escape(prefix) + r"[A-Za-z0-9_]+", f"{prefix}[redacted]", text)
    return text


class RedactingFilter(logging.Filter):
    """Rewrites a record so that no credential reaches a handler, arguments and tracebacks included."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


class RefusalFilter(logging.Filter):
    """Shortens records of refused requests (4xx) to one line, and drops those beyond a maximum per minute.

    Django adds the traceback of the exception, which is of no use here and can be triggered by anybody.
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
        record.msg = f"{text} ({dropped} more like it were not written)" if dropped else text
        record.args, record.exc_info, record.exc_text = (), None, None
        return True


class RequestIdFilter(logging.Filter):
    """Adds the current request id to the record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.current()
        return True
