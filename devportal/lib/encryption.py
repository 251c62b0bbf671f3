"""Encryption at rest of what has to be read back: private signing keys and TOTP secrets."""

import base64
import functools
import hashlib

from cryptography.fernet import Fernet
from django.conf import settings


@functools.cache
def _cipher(key: str) -> Fernet:
    # KEY_ENCRYPTION_KEY is any long random text; Fernet wants exactly 32 bytes.
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest()))


def encrypt(plain: str) -> str:
    """Return `plain` encrypted and authenticated with KEY_ENCRYPTION_KEY."""
    return _cipher(settings.KEY_ENCRYPTION_KEY).encrypt(plain.encode()).decode()


def decrypt(encrypted: str) -> str:
    """Return the plain text of `encrypt`; raises cryptography.fernet.InvalidToken for any other key or text."""
    return _cipher(settings.KEY_ENCRYPTION_KEY).decrypt(encrypted.encode()).decode()
