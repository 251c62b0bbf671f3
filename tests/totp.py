"""The codes of an authenticator app."""

import base64
import hashlib
import hmac
import struct
import time

TOTP_SECONDS = 30


def totp(secret: str, steps_ahead: int = 0) -> str:
    """Return the current code, or the one `steps_ahead` periods later (RFC 6238 §4, truncated as in RFC 4226 §5.3)."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    counter = int(time.time()) // TOTP_SECONDS + steps_ahead
    digest = hmac.new(key, struct.pack(">Q", counter), hashlib.sha1).digest()
    start = digest[-1] & 0x0F
    number = struct.unpack(">I", digest[start : start + 4])[0] & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"
