"""Redaction of redirect URLs for the sign-in log: removes credentials and personal data.

A redirect URL is kept as it was received, because it is compared character for character with the registered ones;
but it comes from anybody, and apps put into their addresses what does not belong there.
"""

import re

from core.logging.filters import redact

REMOVED = "[removed]"
# Replaces what was removed; the patterns of core/logging/filters.py apply too.
MARKS = (REMOVED, "[redacted]", "[token]", "[credential]")
# The values of parameters whose name contains one of these words are removed.
_SECRET_WORDS = (
    "api[_-]?key|assertion|auth|code|cookie|credential|e?-?mail|hint|jwt|login|name|nonce|otp|passw|phone|pin|pwd|saml|"
    "secret|sess|sid|sig|state|sub|ticket|token|user"
)
_START = r"(?:^|(?<=[?&;#/\s“\"']))"
_PARAMETER = re.compile(rf"(?i){_START}([\w%.\-\[\]]*(?:{_SECRET_WORDS})[\w%.\-\[\]]*=)[^&;#\s”\"']+")
# user:password@ in an address, which ends at its last @ (RFC 3986 §3.2.1), and what stands before the @ of a mail
# address; both also percent-encoded.
_BEFORE_AT = re.compile(r"(?i)(?:^|(?<=[/?&;#=,\s“\"']))(?:(?:(?!%40)[^/?&;#=,\s“”\"'@])+(?:@|%40))+")


def redact_secrets(text: str) -> str:
    """Return a text with credentials and personal data replaced by `[removed]`."""
    return redact(_BEFORE_AT.sub(f"{REMOVED}@", _PARAMETER.sub(rf"\1{REMOVED}", text)))
