"""Random identifiers and secrets: generating, hashing and comparing them.

These secrets have at least 128 random bits, so a fast hash is enough to store them. A password hasher would take a
third of a second per call, and the response time would reveal which clients exist.
"""

import hashlib
import hmac
import os
import string

ALPHABET = string.ascii_letters + string.digits
_CHARACTERS = bytes(ord(ALPHABET[byte % len(ALPHABET)]) for byte in range(256))
_UNEVEN = bytes(range(256 - 256 % len(ALPHABET), 256))


def random_text(length: int) -> str:
    """Return `length` random characters of [A-Za-z0-9]; 22 carry 130 bits, 43 carry 256."""
    text = b""
    while len(text) < length:
        # Bytes beyond the last whole multiple of the alphabet are dropped, so that all characters are equally likely.
        text += os.urandom(length + 16).translate(_CHARACTERS, _UNEVEN)
    return text[:length].decode()


def digest(secret: str) -> str:
    """Return the SHA-256 of `secret` as 64 hexadecimal digits, which is how secrets are stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def matches(secret: str, stored_digest: str) -> bool:
    """Return whether `secret` has this stored digest, in constant time."""
    return hmac.compare_digest(digest(secret), stored_digest)
