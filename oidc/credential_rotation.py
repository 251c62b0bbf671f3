"""Rotation rules shared by client secrets and API keys."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from core import clock

# How long a replaced credential may stay valid beside its replacement.
MAX_OVERLAP = timedelta(days=30)


class CredentialEnded(Exception):
    """The credential is revoked or expired, so it can't be rotated and its expiry can't change."""


def check_overlap(expires_at: datetime) -> None:
    """Raise ValueError if `expires_at` is further ahead than MAX_OVERLAP."""
    if expires_at > clock.now() + MAX_OVERLAP:
        raise ValueError("the expiry is too far ahead")


def end_replaced(row: "QuerySet[Any]", old_expires_at: datetime | None, expires_at: datetime, revoked: str) -> datetime:
    """Let a replaced credential expire at `expires_at`, or at its earlier expiry if it has one; return that time.

    If that time has already come, the credential is revoked: the column named by `revoked` is set to now. Raises
    ValueError if `expires_at` is further ahead than MAX_OVERLAP.
    """
    check_overlap(expires_at)
    end = min(expires_at, old_expires_at) if old_expires_at else expires_at
    row.update(**({revoked: clock.now()} if end <= clock.now() else {"expires_at": end}))
    return end
