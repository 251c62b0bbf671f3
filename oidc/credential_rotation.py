"""Rules of rotation that client secrets and API keys share."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from core import clock

# How long a credential may stay in use beside the one that replaces it.
MAX_OVERLAP = timedelta(days=30)


class CredentialEnded(Exception):
    """The credential is revoked or expired, so it can't be rotated and its expiry can't change."""


def check_overlap(expires_at: datetime) -> None:
    """Raise ValueError for an end beyond MAX_OVERLAP."""
    if expires_at > clock.now() + MAX_OVERLAP:
        raise ValueError("the end is too far ahead")


def end_replaced(row: "QuerySet[Any]", old_expires_at: datetime | None, expires_at: datetime, revoked: str) -> datetime:
    """End a credential that is replaced at `expires_at`, or at its own expiry if that is sooner; return its end.

    `revoked` names the column that is set if that moment has come. Raises ValueError beyond MAX_OVERLAP.
    """
    check_overlap(expires_at)
    end = min(expires_at, old_expires_at) if old_expires_at else expires_at
    row.update(**({revoked: clock.now()} if end <= clock.now() else {"expires_at": end}))
    return end
