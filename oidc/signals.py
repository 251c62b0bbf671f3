"""Signals by which floors above follow what becomes of a project."""

from django.dispatch import Signal

# Sent when a project is deleted, and once more before it is restored: `project`. Floors above end what they gave out
# for it.
project_ended = Signal()
