"""Uploaded files and transactions: failures leave no file behind, and files are deleted with their rows.

docs/operations.md#static-and-uploaded-files explains what happens when the store does not respond.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from functools import partial

from django.core.files.base import File
from django.db import DatabaseError, transaction

from accounts.models import FileToDelete
from core import clock
from core.storage import stored_files
from core.storage.stored_files import StoreUnavailable

log = logging.getLogger(__name__)

FIRST_RETRY, LAST_RETRY = timedelta(seconds=30), timedelta(hours=1)
BATCH = 100

_stored: ContextVar[list[str] | None] = ContextVar("files stored in this block", default=None)


@contextmanager
def discarded_on_failure() -> Iterator[None]:
    """Delete the files that `store` stores within the block if it fails; put it around the transaction."""
    stored: list[str] = []
    outside = _stored.set(stored)
    try:
        yield
    except BaseException:
        for name in stored:
            _discard(name)
        raise
    finally:
        _stored.reset(outside)


def store(folder: str, content: File[bytes]) -> str:
    """Store a file and return its name; call it within `discarded_on_failure`. Raises StoreUnavailable."""
    name = stored_files.save_file(folder, content)
    stored = _stored.get()
    assert stored is not None, "nothing would delete the file after a failure"
    stored.append(name)
    return name


def _discard(name: str) -> None:
    try:
        stored_files.delete_file(name)
    except StoreUnavailable:
        try:
            FileToDelete.objects.create(name=name, due_at=clock.now() + FIRST_RETRY)
        except DatabaseError:
            log.warning("The unused file %s could neither be deleted nor queued for deletion.", name)


def delete_on_commit(name: str) -> None:
    """Delete a file when the transaction is committed; if the store does not respond, the task tries again.

    The name is stored in the same transaction, so that a crash after it does not leave the file forever.
    """
    row = FileToDelete.objects.create(name=name, due_at=clock.now() + FIRST_RETRY)
    transaction.on_commit(partial(_delete, row), robust=True)


def delete_waiting() -> int:
    """Delete the files that are due, and return how many; stops at the first failure of the store."""
    deleted = 0
    for row in FileToDelete.objects.filter(due_at__lte=clock.now()).order_by("due_at")[:BATCH]:
        if not _delete(row):
            break
        deleted += 1
    return deleted


def _delete(row: FileToDelete) -> bool:
    """Delete a file and its row, or postpone it: after 30 seconds, a minute and so on, up to an hour."""
    try:
        stored_files.delete_file(row.name)
    except StoreUnavailable:
        wait = min(FIRST_RETRY * 2 ** min(row.attempts, 20), LAST_RETRY)
        FileToDelete.objects.filter(pk=row.pk).update(due_at=clock.now() + wait, attempts=row.attempts + 1)
        return False
    FileToDelete.objects.filter(pk=row.pk).delete()
    return True
