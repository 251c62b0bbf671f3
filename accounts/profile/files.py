"""Uploaded files and transactions: failures leave no file behind, and files are deleted with their rows.

docs/operations.md#static-and-uploaded-files explains what happens when the store does not respond.
"""

import functools
import hashlib
import hmac
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import timedelta
from functools import partial
from typing import Any

from django.core.files.base import ContentFile, File
from django.db import DatabaseError, transaction
from django.dispatch import Signal

from accounts.models import Account, FileToDelete, PairwiseSubject
from core import clock
from core.credentials import random_text
from core.storage import images, stored_files
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


KEY_LENGTH = 32  # 190 random bits
FOLDER = "pictures/"
_KEPT_ENCODED = 128  # of at most about 100 kB, in each process: encoding takes 40 ms

# Sent with `account` and `sector`; a receiver returns whether an app or API key of the sector may read the person's
# profile now.
profile_read = Signal()


def new_picture_key() -> str:
    """Return a random key for the URL of a picture in one sector."""
    return random_text(KEY_LENGTH)


def is_picture_visible(account: Account, sector: str) -> bool:
    """Return whether an app or key of the sector may see the picture now; otherwise its URL returns 404."""
    answers: list[tuple[Any, Any]] = list(profile_read.send(sender=Account, account=account, sector=sector))
    return any(answer for _, answer in answers)


def rotate_picture_keys(account: Account) -> None:
    """Give the picture a new URL in every sector; the former URLs return 404."""
    for pk in PairwiseSubject.objects.filter(account=account).values_list("pk", flat=True):
        PairwiseSubject.objects.filter(pk=pk).update(picture_key=new_picture_key())


def has_picture(account: Account, content: ContentFile[bytes]) -> bool:
    """Return whether this is already the account's picture. Raises StoreUnavailable."""
    with suppress(FileNotFoundError):
        return stored_files.read_file(account.picture.name or "") == content.open().read() if account.picture else False
    return False


def store_picture(content: ContentFile[bytes]) -> str:
    """Store a picture from `accounts.profile.claims.clean_picture` and return its file's name.

    Call it within `files.discarded_on_failure`, and before a transaction: a store may take seconds. Raises
    StoreUnavailable.
    """
    return store(FOLDER, content)


def replace_picture(account: Account, stored: str) -> None:
    """Give an account another picture, "" for none; the caller saves the row. The commit deletes the former file.

    It locks the row, because another request may have replaced the picture since `account` was read.
    """
    rows = Account.objects.select_for_update(no_key=True).filter(pk=account.pk)
    former = rows.values_list("picture", flat=True).first()
    account.picture = stored
    if former:
        delete_on_commit(former)


@functools.lru_cache(maxsize=_KEPT_ENCODED)
def encode_picture_for(file_name: str, picture_key: str) -> bytes:
    """Return a stored picture, encoded for the sector with this key; deterministic for each key.

    Each sector gets other bytes, another length, and invisible differences in the pixels. Raises FileNotFoundError,
    StoreUnavailable.
    """
    # The seed contains the file's name, which never leaves the service, so nobody else can reproduce it.
    seed = hmac.digest(picture_key.encode(), f"bytes of {file_name}".encode(), hashlib.sha256)
    return images.vary_webp(stored_files.read_file(file_name), hashlib.shake_256(seed).digest)
