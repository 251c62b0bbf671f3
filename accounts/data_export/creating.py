"""Creating the encrypted file of an export.

Each line is one piece, encrypted by core/database/encryption.py together with its owner, its number, and whether it is
the last one: no piece can be left out, moved, or taken from another file.

One worker creates an export: its claim is a conditional update, which expires if the worker is lost. After
MOST_ATTEMPTS the export has failed, and the person may ask for another one.
"""

import contextlib
import logging
import struct
import time
from collections.abc import Iterator
from datetime import timedelta
from tempfile import TemporaryFile
from typing import IO

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.base import File
from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.data_export import archive
from accounts.mail import outbox
from accounts.models import DataExport, FileToDelete
from accounts.profile import files
from core import clock
from core.credentials import random_text
from core.database import encryption

PIECE = 64 * 1024  # bytes of the plain file
_HEAD = struct.Struct(">QQ?")  # owner, number, is it the last one
LONGEST_LINE = 4 * (_HEAD.size + PIECE) // 3 + 200


def encrypt_file(plain: IO[bytes], encrypted: IO[bytes], owner: int) -> None:
    """Encrypt the file `plain` into `encrypted`; `owner` is the primary key of the row that the file belongs to."""
    number, piece = 0, plain.read(PIECE)
    while True:
        following = plain.read(PIECE)
        encrypted.write(encryption.encrypt_bytes(_HEAD.pack(owner, number, not following) + piece) + b"\n")
        if not following:
            return
        number, piece = number + 1, following


def decrypt_file(encrypted: IO[bytes], owner: int) -> Iterator[bytes]:
    """Yield the plain file in pieces. Raises encryption.Unreadable if it was changed or has another owner."""
    number, is_last = 0, False
    while line := encrypted.readline(LONGEST_LINE):
        opened = encryption.decrypt_bytes(line.strip())
        found, position, is_last = _HEAD.unpack_from(opened)
        if (found, position) != (owner, number):
            raise encryption.Unreadable
        yield opened[_HEAD.size :]
        number += 1
    if not is_last:
        raise encryption.Unreadable


log = logging.getLogger(__name__)

FOLDER = "exports/"
NAME_LENGTH = 40  # 238 random bits
MOST_ATTEMPTS = 3
CLAIM = timedelta(minutes=10)  # longer than the task may run (accounts/data_export/tasks.py)
PAUSE = timedelta(minutes=1)  # after a failure; doubled after each further one
BATCH = 20


class Discarded(Exception):
    """The export is no longer needed: its person has deleted the account, or it has failed meanwhile."""


def make(pk: int, *, seconds: float | None = None) -> bool:
    """Create one export if it waits; return whether it is ready now. Call this outside of a transaction.

    With `seconds`, an export that takes longer is left to the periodic task, which does not count as a failure.
    """
    row = _claim(pk)
    if row is None:
        return False
    try:
        with files.discarded_on_failure(), TemporaryFile() as encrypted:
            size = _write(row, encrypted, seconds)
            name = f"{random_text(NAME_LENGTH)}.zip.encrypted"
            # Noted before it is stored, so that a process that dies between the two does not leave a file forever.
            noted = FileToDelete.objects.create(name=f"{FOLDER}{name}", due_at=clock.now() + CLAIM)
            _finish(row, files.store(FOLDER, File(encrypted, name=name)), size, noted)
    except Discarded:
        return False
    except archive.TakesLonger:
        _waiting(row).update(claimed_until=None, attempts=row.attempts - 1)
        return False
    except Exception:
        log.exception("Export %d could not be created at attempt %d.", row.pk, row.attempts)
        _note_failure(row)
        return False
    return True


def _claim(pk: int) -> DataExport | None:
    """Claim an export that waits; return None if another worker has it, or no attempts are left."""
    now = clock.now()
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    row = _all_waiting().filter(free, pk=pk).select_related("account").first()
    if row is None:
        return None
    if row.attempts >= MOST_ATTEMPTS or row.is_stuck or not row.account.is_active:
        _waiting(row).update(failed_at=now)
        return None
    mine = _waiting(row).filter(free)
    row.attempts += 1
    row.claimed_until = now + CLAIM
    return row if mine.update(attempts=row.attempts, claimed_until=row.claimed_until) else None


def _all_waiting() -> "QuerySet[DataExport]":
    return DataExport.objects.filter(ready_at=None, failed_at=None)


def _waiting(row: DataExport) -> "QuerySet[DataExport]":
    """Return the row as it was read, if it still waits: nothing if another worker has claimed it since."""
    return _all_waiting().filter(pk=row.pk, attempts=row.attempts)


def _write(row: DataExport, encrypted: IO[bytes], seconds: float | None) -> int:
    """Write the encrypted ZIP, and return the size of the plain one."""
    with TemporaryFile() as plain:
        archive.write_archive(row.account, plain, until=None if seconds is None else time.monotonic() + seconds)
        size = plain.tell()
        plain.seek(0)
        encrypt_file(plain, encrypted, row.pk)
    return size


def _finish(row: DataExport, name: str, size: int, noted: FileToDelete) -> None:
    """Store that the export is ready, and notify its person; the file of the previous export is deleted."""
    with transaction.atomic():
        now = clock.now()
        expires_at = now + timedelta(days=settings.EXPORT_DAYS)
        if not _waiting(row).update(ready_at=now, expires_at=expires_at, file=name, size=size, claimed_until=None):
            raise Discarded
        noted.delete()
        drop_files(DataExport.objects.filter(account=row.account_id).exclude(pk=row.pk))
        context = {"asked_at": row.asked_at, "expires_at": expires_at, "days": settings.EXPORT_DAYS}
        with contextlib.suppress(ValidationError):  # no mail server accepts this email address
            outbox.queue_mail(row.account.email, "export_ready", context)


def _note_failure(row: DataExport) -> None:
    now = clock.now()
    if row.attempts >= MOST_ATTEMPTS:
        _waiting(row).update(failed_at=now, claimed_until=None)
    else:
        _waiting(row).update(claimed_until=now + PAUSE * row.attempts)


def make_waiting() -> int:
    """Create the exports that wait, for lost tasks and further attempts; return how many became ready."""
    free = Q(claimed_until=None) | Q(claimed_until__lte=clock.now())
    keys = _all_waiting().filter(free).order_by("pk").values_list("pk", flat=True)[:BATCH]
    return sum(make(pk) for pk in list(keys))


def clear_old() -> int:
    """Delete files that have expired, and rows that are no longer needed; return how many files were deleted."""
    now = clock.now()
    with transaction.atomic():
        gone = drop_files(DataExport.objects.filter(expires_at__lte=now))
    counted_until = now - timedelta(days=settings.EXPORT_DAYS)  # EXPORTS_PER_DAY counts rows
    old = DataExport.objects.filter(asked_at__lt=counted_until, file="").exclude(ready_at=None, failed_at=None)
    old.delete()
    return gone


def drop_files(rows: "QuerySet[DataExport]") -> int:
    """Delete the files of exports when the transaction is committed; return how many there were."""
    held = list(rows.exclude(file="").select_for_update())
    for row in held:
        files.delete_on_commit(row.file)
    DataExport.objects.filter(pk__in=[row.pk for row in held]).update(file="")
    return len(held)
