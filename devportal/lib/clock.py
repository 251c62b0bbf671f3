"""The one source of time, so that tests can move it."""

from datetime import UTC, datetime, timedelta


def now() -> datetime:
    """Return the present moment, aware, in UTC."""
    return datetime.now(UTC)


def timestamp() -> int:
    """Return the present moment in whole seconds since 1970 (RFC 7519 NumericDate)."""
    return int(now().timestamp())


def from_now(seconds: int) -> datetime:
    """Return the moment `seconds` ahead of now (behind it, when negative)."""
    return now() + timedelta(seconds=seconds)
