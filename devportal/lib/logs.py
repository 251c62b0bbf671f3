"""Log lines: the request id on each, and a second line of defence against secrets in them."""

import logging
import re

from django.conf import settings

from devportal.lib import request_id

# A JWT (three dotted base64url parts), and anything that follows the name of a secret parameter.
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,4}")
_NAMED = re.compile(
    r"(?i)\b(code|code_verifier|client_secret|refresh_token|access_token|id_token|id_token_hint|password|token)"
    r"(['\"]?\s*[=:,]\s*['\"]?)(?!\[)([^\s&'\",}”]{6,})"
)
_SPOKEN = re.compile(r"(?i)\b((?:refresh|access) token|code|verifier) [A-Za-z0-9._~-]{20,}")
_BASIC = re.compile(r"(?i)\b(basic|bearer)\s+[A-Za-z0-9._~+/=-]{6,}")


def redact(text: str) -> str:
    """Return `text` with everything that looks like a credential replaced."""
    text = _JWT.sub("[token]", text)
    text = _BASIC.sub(r"\1 [credential]", text)
    text = _SPOKEN.sub(r"\1 [redacted]", text)
    text = _NAMED.sub(r"\1\2[redacted]", text)
    for prefix in (settings.CLIENT_SECRET_PREFIX, settings.API_KEY_PREFIX):
        text = re.sub(re.escape(prefix) + r"[A-Za-z0-9_]+", f"{prefix}[redacted]", text)
    return text


class NoSecrets(logging.Filter):
    """Rewrites a record so that no credential reaches a handler, arguments and tracebacks included."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
        return True


class RequestId(logging.Filter):
    """Puts the id of the request being answered on the record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.current()
        return True
