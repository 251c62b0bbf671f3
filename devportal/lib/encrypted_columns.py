"""The columns that hold encrypted texts, and re-encrypting them (docs/secrets.md#rotating-key_encryption_key).

Each floor registers its own; `tests/lib/test_encrypted_columns.py` finds any that is not.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import models, transaction

from devportal.lib import encryption

BATCH = 200  # rows of one transaction: some 100 ms
ATTEMPTS = 5  # at a row that others write to at the same time
ATTEMPTS_OF_ALL = 3  # passes over a table, for rows that were written with the old key meanwhile


@dataclass(frozen=True)
class EncryptedColumn:
    """A column that is encrypted: a text (an empty one stands for none), or in a JSON object the `members`.

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
        """Return whether everything that is encrypted in a value of the column can be read."""
        return all(map(encryption.is_readable, self.texts(value)))

    def reencrypted(self, value: Any) -> Any:
        """Return a value of the column, encrypted with the present key. Raises encryption.Unreadable."""
        if not self.members:
            return encryption.reencrypt(value)
        held = {name: value[name] for name in self.members if name in value}
        return value | {
            name: list(map(encryption.reencrypt, texts)) if isinstance(texts, list) else encryption.reencrypt(texts)
            for name, texts in held.items()
        }

    def rows(self) -> Iterator[list[tuple[Any, Any]]]:
        """Yield all rows, as lists of keys and values, in batches by key."""
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
        """Yield the keys of the rows that can't be read."""
        for batch in self.rows():
            yield from (pk for pk, value in batch if not self.is_readable(value))


@dataclass
class Count:
    """How many rows of a column stand with the present key, were re-encrypted, need a fallback, or can't be read."""

    current: int = 0
    renewed: int = 0
    needing_fallback: int = 0
    unreadable: list[Any] = field(default_factory=list)


_columns: list[EncryptedColumn] = []


def register(column: EncryptedColumn) -> None:
    """Add a column to those that are re-encrypted."""
    if column not in _columns:
        _columns.append(column)


def registered() -> list[EncryptedColumn]:
    """Return all encrypted columns, in the order of their names."""
    return sorted(_columns, key=lambda column: column.name)


def count_rows(column: EncryptedColumn) -> Count:
    """Count the rows of a column; nothing is changed."""
    count = Count()
    for batch in column.rows():
        for pk, value in batch:
            if all(map(encryption.is_current, column.texts(value))):
                count.current += 1
            elif column.is_readable(value):
                count.needing_fallback += 1
            else:
                count.unreadable.append(pk)
    return count


def reencrypt(column: EncryptedColumn) -> Count:
    """Encrypt all rows of a column with the present key, in short transactions; safe beside writers and twice at once.

    `needing_fallback` of the result is what others wrote with an old key meanwhile, again and again.
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
    """Re-encrypt one row, unless somebody has just written to it: then what they wrote. Return whether it was."""
    for _ in range(ATTEMPTS):
        if all(map(encryption.is_current, column.texts(value))):
            return False
        try:
            renewed = column.reencrypted(value)
        except encryption.Unreadable:
            return False
        rows = column.model._default_manager.filter(pk=pk)
        if rows.filter(**{column.field: value}).update(**{column.field: renewed}):
            return True
        now = list(rows.values_list(column.field, flat=True))
        if not now:
            return False
        value = now[0]
    return False
