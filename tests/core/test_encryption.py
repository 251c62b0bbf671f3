"""Encryption at rest: the present key encrypts, and fallbacks are read."""

from typing import Any

import pytest
from cryptography.fernet import Fernet

from core.database import encryption

OLD, NEW = "an old key, of more than 32 characters", "a new key, which is just as long as that"


def rotate(settings: Any) -> None:
    settings.KEY_ENCRYPTION_KEY, settings.KEY_ENCRYPTION_KEY_FALLBACKS = NEW, [OLD]


@pytest.fixture
def old(settings: Any) -> str:
    settings.KEY_ENCRYPTION_KEY = OLD
    return encryption.encrypt("plain")


def test_another_key_can_not_read_it(old: str, settings: Any) -> None:
    settings.KEY_ENCRYPTION_KEY = NEW
    with pytest.raises(encryption.Unreadable, match="KEY_ENCRYPTION_KEY"):
        encryption.decrypt(old)
    assert not encryption.is_readable(old)


def test_a_fallback_reads_and_the_present_key_encrypts(old: str, settings: Any) -> None:
    rotate(settings)
    assert encryption.decrypt(old) == "plain"
    assert not encryption.is_current(old)
    new = encryption.reencrypt(old)
    assert encryption.is_current(new)
    settings.KEY_ENCRYPTION_KEY_FALLBACKS = []
    assert encryption.decrypt(new) == "plain"


def test_values_of_earlier_versions_are_read(settings: Any) -> None:
    import base64
    import hashlib

    settings.KEY_ENCRYPTION_KEY = OLD
    key = base64.urlsafe_b64encode(hashlib.sha256(OLD.encode()).digest())
    assert encryption.decrypt(Fernet(key).encrypt(b"plain").decode()) == "plain"


@pytest.mark.parametrize("text", ["", "no ciphertext", "gAAAAA", "é", "\x00"])
def test_invalid_ciphertext_raises_unreadable(text: str) -> None:
    assert not encryption.is_readable(text)
    assert not encryption.is_current(text)
