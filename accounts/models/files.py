"""Uploaded files that nothing refers to any more, and that are still to be deleted."""

from django.db import models

LONGEST_NAME = 100  # as of an ImageField


class FileToDelete(models.Model):
    """A file's name, from the transaction that dropped it until the store has deleted it (accounts/files.py)."""

    name = models.CharField(max_length=LONGEST_NAME)
    created_at = models.DateTimeField(auto_now_add=True)
    due_at = models.DateTimeField(db_index=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    def __str__(self) -> str:
        return self.name
