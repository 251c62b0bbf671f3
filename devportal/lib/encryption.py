"""Encryption at rest of what has to be read back.

That is private signing keys, TOTP secrets, seeds of recovery codes, mails with a code that wait, exports, and test
accounts of reviews.

New texts are encrypted with KEY_ENCRYPTION_KEY. What was encrypted with one of KEY_ENCRYPTION_KEY_FALLBACKS is read as
well, so that the key can be rotated (docs/secrets.md#rotating-key_encryption_key).
"""

import base64
import functools
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class Unreadable(Exception):
    """A text that no encryption key of this process opens; the message names the setting."""

    def __init__(self) -> None:
        super().__init__("It was encrypted with a key that is neither KEY_ENCRYPTION_KEY nor among its fallbacks.")


@functools.cache
def _fernet(key: str) -> Fernet:
    # KEY_ENCRYPTION_KEY is any long random text; Fernet wants exactly 32 bytes.
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest()))


def encrypt_bytes(plain: bytes) -> bytes:
    """Return `plain` encrypted and authenticated with KEY_ENCRYPTION_KEY: printable, a third longer."""
    return _fernet(settings.KEY_ENCRYPTION_KEY).encrypt(plain)


def decrypt_bytes(encrypted: bytes) -> bytes:
    """Return what `encrypt_bytes` was given, with the present key or a fallback. Raises Unreadable."""
    keys = (settings.KEY_ENCRYPTION_KEY, *settings.KEY_ENCRYPTION_KEY_FALLBACKS)
    try:
        return MultiFernet([_fernet(key) for key in keys]).decrypt(encrypted)
    except InvalidToken as error:
        raise Unreadable from error


def encrypt(plain: str) -> str:
    """Return `plain` encrypted and authenticated with KEY_ENCRYPTION_KEY."""
    return encrypt_bytes(plain.encode()).decode()


def decrypt(encrypted: str) -> str:
    """Return the plain text of `encrypt`, made with the present key or a fallback. Raises Unreadable."""
    return decrypt_bytes(encrypted.encode()).decode()


def reencrypt(encrypted: str) -> str:
    """Return a text of `encrypt`, encrypted anew with the present key. Raises Unreadable."""
    return encrypt(decrypt(encrypted))


def is_current(encrypted: str) -> bool:
    """Return whether the present key opens a text, so that it needs none of the fallbacks."""
    try:
        _fernet(settings.KEY_ENCRYPTION_KEY).decrypt(encrypted.encode())
    except InvalidToken:
        return False
    return True


def is_readable(encrypted: str) -> bool:
    """Return whether the present key or a fallback opens a text."""
    try:
        decrypt(encrypted)
    except Unreadable:
        return False
    return True
