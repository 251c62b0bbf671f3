"""What may stand in a log that a project's members read: no credential, and nothing that tells who a person is.

A redirect URL is kept as it was received, because it is compared character for character with the registered ones;
but it comes from anybody, and apps put into their addresses what does not belong there.
"""

import re

from devportal.lib.logs import redact

REMOVED = "[removed]"
# How to see that something was left out; the others are those of devportal/lib/logs.py.
MARKS = (REMOVED, "[redacted]", "[token]", "[credential]")
# Parameters whose values are kept from the log, wherever in their name such a word stands.
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
    """Return a text with what looks like a credential, or like a person, replaced by `[removed]`."""
    return redact(_BEFORE_AT.sub(f"{REMOVED}@", _PARAMETER.sub(rf"\1{REMOVED}", text)))
