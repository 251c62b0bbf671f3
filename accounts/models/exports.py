"""Data exports, and uploaded files that are still to be deleted."""

from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Q

from accounts.models.people import Account
from core import clock

LONGEST_NAME = 100  # the same as for an ImageField


class FileToDelete(models.Model):
    """The name of a file to delete, from the transaction that no longer needs it until its deletion from the store."""

    name = models.CharField(max_length=LONGEST_NAME)
    created_at = models.DateTimeField(auto_now_add=True)
    due_at = models.DateTimeField(db_index=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    def __str__(self) -> str:
        return self.name


# An export does not count as being created for longer: all attempts have failed by then, or no worker is running.
LONGEST_MAKING = timedelta(hours=1)


class DataExport(models.Model):
    """One export: it waits until it is ready or has failed; its file is deleted before the row is (data_export/)."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="data_exports")
    asked_at = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    # Until then a worker is creating it, or the next attempt has to wait after a failure.
    claimed_until = models.DateTimeField(null=True)
    ready_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True, db_index=True)
    file = models.CharField(max_length=LONGEST_NAME, blank=True)  # encrypted; empty: not created yet, or deleted
    size = models.PositiveBigIntegerField(default=0)  # bytes of the ZIP as its owner gets it

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["account"], condition=Q(ready_at=None, failed_at=None), name="one_export_is_made_at_a_time"
            )
        ]

    def __str__(self) -> str:
        return f"export {self.pk}, {self.state}"

    @property
    def state(self) -> str:
        """The state: making, ready, failed or gone."""
        if self.ready_at is not None:
            return "ready" if self.file and self.expires_at and self.expires_at > clock.now() else "gone"
        return "failed" if self.failed_at is not None or self.is_stuck else "making"

    @property
    def is_stuck(self) -> bool:
        """Return whether it has been waiting for longer than creating it can take."""
        is_waiting = self.ready_at is None and self.failed_at is None
        return is_waiting and self.asked_at < clock.now() - LONGEST_MAKING
