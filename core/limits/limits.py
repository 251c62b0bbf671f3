"""Rate limits with one counter, on top of counters.py."""

from core.limits.counters import Limit, counters
from core.telemetry import metrics


class Throttled(Exception):
    """Too many requests; `retry_after` is a whole number of seconds from 1 to 60."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many requests; try again in {retry_after} s")
        self.retry_after = retry_after


def check_rate(group: str, key: str, per_minute: int) -> None:
    """Count a request under `key` in `group`. Raises Throttled after `per_minute` requests in a minute."""
    result = counters().take([Limit(f"{group}:{key}", per_minute)])
    if not result.allowed:
        metrics.limit_met(group)
        raise Throttled(result.reset)
