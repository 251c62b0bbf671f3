"""Redaction of redirect URLs for the sign-in log: removes credentials and personal data.

A redirect URL is stored as received, because it is compared with the registered ones character for character. But
anyone can send one, and apps put secrets and personal data into their URLs.
"""

import re

from core.logging.filters import redact

REMOVED = "[removed]"
# Replaces removed text. The patterns of core/logging/filters.py also apply.
MARKS = (REMOVED, "[redacted]", "[token]", "[credential]")
# Values are removed from parameters whose names contain one of these words.
_SECRET_WORDS = (
    "api[_-]?key|assertion|auth|code|cookie|credential|e?-?mail|hint|jwt|login|name|nonce|otp|passw|phone|pin|pwd|saml|"
    "secret|sess|sid|sig|state|sub|ticket|token|user"
)
_START = r"(?:^|(?<=[?&;#/\s“\"']))"
_PARAMETER = re.compile(rf"(?i){_START}([\w%.\-\[\]]*(?:{_SECRET_WORDS})[\w%.\-\[\]]*=)[^&;#\s”\"']+")
# user:password@ in a URL, which ends at the last @ (RFC 3986 §3.2.1), and the local part of an email address; both also
# percent-encoded.
_BEFORE_AT = re.compile(r"(?i)(?:^|(?<=[/?&;#=,\s“\"']))(?:(?:(?!%40)[^/?&;#=,\s“”\"'@])+(?:@|%40))+")


def redact_secrets(text: str) -> str:
    """Return a text with credentials and personal data replaced by `[removed]`."""
    return redact(_BEFORE_AT.sub(f"{REMOVED}@", _PARAMETER.sub(rf"\1{REMOVED}", text)))
