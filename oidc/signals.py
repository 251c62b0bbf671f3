"""Signals by which floors above follow what becomes of a project."""

from django.dispatch import Signal

# Sent with `project` when one is deleted, and again before it is restored. Receivers on higher floors revoke the
# credentials they issued for it.
project_ended = Signal()
