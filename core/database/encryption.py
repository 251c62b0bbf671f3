"""Encryption of texts and database columns at rest (docs/secrets.md#rotating-key_encryption_key)."""

import base64
import functools
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models, transaction


class Unreadable(Exception):
    """No encryption key of this process can decrypt a text; the message names the setting."""

    def __init__(self) -> None:
        super().__init__("It was encrypted with a key that is neither KEY_ENCRYPTION_KEY nor one of its fallbacks.")


@functools.cache
def _fernet(key: str) -> Fernet:
    # KEY_ENCRYPTION_KEY is any long random text; Fernet needs exactly 32 bytes.
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest()))


def encrypt_bytes(plain: bytes) -> bytes:
    """Return `plain` encrypted and authenticated with KEY_ENCRYPTION_KEY: printable, a third longer."""
    return _fernet(settings.KEY_ENCRYPTION_KEY).encrypt(plain)


def decrypt_bytes(encrypted: bytes) -> bytes:
    """Decrypt the result of `encrypt_bytes`, with the current key or a fallback. Raises Unreadable."""
    keys = (settings.KEY_ENCRYPTION_KEY, *settings.KEY_ENCRYPTION_KEY_FALLBACKS)
    try:
        return MultiFernet([_fernet(key) for key in keys]).decrypt(encrypted)
    except InvalidToken as error:
        raise Unreadable from error


def encrypt(plain: str) -> str:
    """Return `plain` encrypted and authenticated with KEY_ENCRYPTION_KEY."""
    return encrypt_bytes(plain.encode()).decode()


def decrypt(encrypted: str) -> str:
    """Decrypt the result of `encrypt`, with the current key or a fallback. Raises Unreadable."""
    return decrypt_bytes(encrypted.encode()).decode()


def reencrypt(encrypted: str) -> str:
    """Return an encrypted text, encrypted again with the current key. Raises Unreadable."""
    return encrypt(decrypt(encrypted))


def is_current(encrypted: str) -> bool:
    """Return whether the current key decrypts a text, so that no fallback is needed."""
    try:
        _fernet(settings.KEY_ENCRYPTION_KEY).decrypt(encrypted.encode())
    except InvalidToken:
        return False
    return True


def is_readable(encrypted: str) -> bool:
    """Return whether the current key or a fallback decrypts a text."""
    try:
        decrypt(encrypted)
    except Unreadable:
        return False
    return True


# Each layer registers its columns; `tests/core/test_encrypted_columns.py` finds columns that are not registered.

BATCH = 200  # rows in one transaction, which takes about 100 ms
ATTEMPTS = 5  # for a row that others write to at the same time
ATTEMPTS_OF_ALL = 3  # passes over a table, for rows that were written with the old key meanwhile


@dataclass(frozen=True)
class EncryptedColumn:
    """A column that is encrypted: a text (empty means no value), or the `members` of a JSON object.

    Each of `members` is a text or a list of texts.
    """

    model: type[models.Model]
    field: str
    members: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The table and the column."""
        return f"{self.model._meta.db_table}.{self.field}"

    def texts(self, value: Any) -> list[str]:
        """Return the encrypted texts in a value of the column."""
        if not self.members:
            return [value] if value else []
        held = [value[name] for name in self.members if name in value]
        return [text for texts in held for text in (texts if isinstance(texts, list) else [texts])]

    def is_readable(self, value: Any) -> bool:
        """Return whether all encrypted texts in a value of the column can be decrypted."""
        return all(map(is_readable, self.texts(value)))

    def reencrypted(self, value: Any) -> Any:
        """Return a value of the column, encrypted with the current key. Raises Unreadable."""
        if not self.members:
            return reencrypt(value)
        held = {name: value[name] for name in self.members if name in value}
        return value | {
            name: list(map(reencrypt, texts)) if isinstance(texts, list) else reencrypt(texts)
            for name, texts in held.items()
        }

    def rows(self) -> Iterator[list[tuple[Any, Any]]]:
        """Yield all rows as lists of (key, value), in batches by key."""
        last: Any = None
        while True:
            after = self.model._default_manager.order_by("pk")
            if last is not None:
                after = after.filter(pk__gt=last)
            batch = list(after.values_list("pk", self.field)[:BATCH])
            if not batch:
                return
            yield batch
            last = batch[-1][0]

    def unreadable(self) -> Iterator[Any]:
        """Yield the keys of the rows that can't be decrypted."""
        for batch in self.rows():
            yield from (pk for pk, value in batch if not self.is_readable(value))


@dataclass
class Count:
    """Numbers of rows: encrypted with the current key, re-encrypted, still needing a fallback, and unreadable."""

    current: int = 0
    renewed: int = 0
    needing_fallback: int = 0
    unreadable: list[Any] = field(default_factory=list)


_columns: list[EncryptedColumn] = []


def register(column: EncryptedColumn) -> None:
    """Add a column to the ones that are re-encrypted."""
    if column not in _columns:
        _columns.append(column)


def registered() -> list[EncryptedColumn]:
    """Return all encrypted columns, ordered by name."""
    return sorted(_columns, key=lambda column: column.name)


def count_rows(column: EncryptedColumn) -> Count:
    """Count the rows of a column without changing them."""
    count = Count()
    for batch in column.rows():
        for pk, value in batch:
            if all(map(is_current, column.texts(value))):
                count.current += 1
            elif column.is_readable(value):
                count.needing_fallback += 1
            else:
                count.unreadable.append(pk)
    return count


def reencrypt_column(column: EncryptedColumn) -> Count:
    """Encrypt all rows of a column with the current key, in short transactions.

    This is safe while others write, and when it runs twice at once. `needing_fallback` in the result counts the rows
    that others wrote with an old key during each attempt.
    """
    renewed = 0
    for _ in range(ATTEMPTS_OF_ALL):
        for batch in column.rows():
            with transaction.atomic():
                renewed += sum(_reencrypt_row(column, pk, value) for pk, value in batch)
        count = count_rows(column)
        if not count.needing_fallback:
            break
    count.renewed = renewed
    return count


def _reencrypt_row(column: EncryptedColumn, pk: Any, value: Any) -> bool:
    """Re-encrypt one row, and return whether it was; if it was written to meanwhile, try again with the new value."""
    for _ in range(ATTEMPTS):
        if all(map(is_current, column.texts(value))):
            return False
        try:
            renewed = column.reencrypted(value)
        except Unreadable:
            return False
        rows = column.model._default_manager.filter(pk=pk)
        if rows.filter(**{column.field: value}).update(**{column.field: renewed}):
            return True
        now = list(rows.values_list(column.field, flat=True))
        if not now:
            return False
        value = now[0]
    return False
