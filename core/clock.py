"""The current time. All code reads the time here, so that tests can change it."""

from datetime import UTC, datetime, timedelta


def now() -> datetime:
    """Return the current time (UTC, timezone-aware)."""
    return datetime.now(UTC)


def timestamp() -> int:
    """Return the current time in whole seconds since 1970 (RFC 7519 NumericDate)."""
    return int(now().timestamp())


def from_now(seconds: int) -> datetime:
    """Return the time `seconds` from now (negative: in the past)."""
    return now() + timedelta(seconds=seconds)


def in_words(seconds: int) -> str:
    """Return a duration in words, rounded up: "45 seconds", "5 minutes", "3 hours"."""
    for unit, size in (("hour", 3600), ("minute", 60)):
        if seconds > 1.5 * size:
            return f"{-(-seconds // size)} {unit}s"
    return f"{seconds} second{'' if seconds == 1 else 's'}"
