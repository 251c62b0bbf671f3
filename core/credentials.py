"""Random identifiers and secrets: generating, hashing and comparing them.

What is made here carries at least 128 random bits, so a fast hash is enough to store it; password hashers are
for passwords, and a third of a second a call would tell which clients exist.
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
        # Bytes beyond the last whole multiple of the alphabet are dropped, so that every character is as likely.
        text += os.urandom(length + 16).translate(_CHARACTERS, _UNEVEN)
    return text[:length].decode()


def digest(secret: str) -> str:
    """Return the SHA-256 of `secret` as 64 hexadecimal digits: the form in which secrets are stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def matches(secret: str, stored_digest: str) -> bool:
    """Tell, in constant time, whether `secret` has this stored digest."""
    return hmac.compare_digest(digest(secret), stored_digest)
