"""Requesting an export of one's own data, and reading it."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import IO

from django.conf import settings
from django.db import transaction
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.activity import recording
from accounts.data_export import creating
from accounts.data_export.tasks import make_export
from accounts.models import Account, DataExport
from accounts.profile import files
from core import clock
from core.audit import Event, report
from core.storage import stored_files
from core.tasks import queue_task

# The embedded environment creates exports in the request, with this limit; the timer creates larger ones.
INLINE_SECONDS = 2.0


class TooManyExports(Exception):
    """The person had EXPORTS_PER_DAY exports in 24 hours."""


def latest_of(account: Account) -> DataExport | None:
    """Return the person's newest export, whatever its state."""
    return DataExport.objects.filter(account=account).order_by("-pk").first()


def ask(account: Account, request: HttpRequest) -> DataExport:
    """Request an export, or return the one that is being created already. Raises TooManyExports."""
    with transaction.atomic():
        Account.objects.select_for_update(no_key=True).get(pk=account.pk)  # two clicks at once: one waits for the other
        rows = DataExport.objects.filter(account=account)
        waiting = rows.filter(ready_at=None, failed_at=None).first()
        if waiting is not None and not waiting.is_stuck:
            return waiting
        now = clock.now()
        if waiting is not None:
            rows.filter(pk=waiting.pk).update(failed_at=now)
        of_today = rows.filter(asked_at__gt=now - timedelta(days=1)).exclude(ready_at=None)
        if of_today.count() >= settings.EXPORTS_PER_DAY:
            raise TooManyExports
        row = DataExport.objects.create(account=account, asked_at=now)
        recording.record(account, "export_asked", request)
        report(Event("account.export_asked", account.pk, target=f"account:{account.pk}"))
        transaction.on_commit(partial(_announce, row.pk), robust=True)
    return row


def _announce(pk: int) -> None:
    """Let a worker create the export, or this process if there is none (embedded environment)."""
    if settings.CELERY_TASK_ALWAYS_EAGER:
        creating.make(pk, seconds=INLINE_SECONDS)
    else:
        queue_task(make_export, pk)


def pieces_of(row: DataExport) -> Iterator[bytes]:
    """Return the ZIP of an export in pieces; the first piece is read before this returns.

    Raises FileNotFoundError, StoreUnavailable, encryption.Unreadable.
    """
    encrypted = stored_files.open_file(row.file)
    pieces = _closing(encrypted, row.pk)
    first = next(pieces)
    return _chained(first, pieces)


def _closing(encrypted: IO[bytes], owner: int) -> Iterator[bytes]:
    with encrypted:
        yield from creating.decrypt_file(encrypted, owner)


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


@receiver(post_delete, sender=DataExport)
def delete_file(sender: type[DataExport], instance: DataExport, **kwargs: object) -> None:
    """Delete the file together with its row, for example when an account is deleted."""
    if instance.file:
        files.delete_on_commit(instance.file)
