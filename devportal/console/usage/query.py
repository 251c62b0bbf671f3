"""The time range and filters of the usage page, from the query parameters."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.http import HttpRequest
from django.utils.http import urlencode

from core import clock


@dataclass(frozen=True)
class TimeRange:
    """A time range up to now with `bars` bars of length `step`, read from the counts by `unit`.

    Bars begin at full minutes, hours or midnights in UTC. The last one has not ended yet.
    """

    name: str
    label: str
    words: str
    unit: str
    step: timedelta
    bars: int
    whole: timedelta

    def bounds(self, now: datetime) -> tuple[datetime, datetime]:
        """Return start (inclusive) and end (exclusive)."""
        seconds = int(now.timestamp())
        until = datetime.fromtimestamp(seconds - seconds % self._ends_on + self._ends_on, UTC)
        return until - self.whole, until

    @property
    def _ends_on(self) -> int:
        return 86400 if self.whole > timedelta(days=1) else int(self.step.total_seconds())


_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
TIME_RANGES = (
    TimeRange("1h", "1 hour", "hour", "minute", _MINUTE, 60, _HOUR),
    TimeRange("24h", "24 hours", "24 hours", "hour", _HOUR, 24, _DAY),
    TimeRange("7d", "7 days", "7 days", "hour", 3 * _HOUR, 56, 7 * _DAY),
    TimeRange("30d", "30 days", "30 days", "day", _DAY, 30, 30 * _DAY),
)
_BY_NAME = {span.name: span for span in TIME_RANGES}
_LONGEST = {"endpoint": 32, "client": 255, "key": 16}


@dataclass(frozen=True)
class UsageQuery:
    """The time range and the filters by endpoint, client and key ("" for all)."""

    span: TimeRange
    endpoint: str = ""
    client: str = ""
    key: str = ""

    @classmethod
    def of(cls, request: HttpRequest) -> "UsageQuery":
        """Parse the query parameters. Invalid values are ignored."""
        given = {name: request.GET.get(name, "") for name in _LONGEST}
        proper = {name: text for name, text in given.items() if len(text) <= _LONGEST[name] and "\x00" not in text}
        return cls(_BY_NAME.get(request.GET.get("range", ""), _BY_NAME["24h"]), **proper)

    @property
    def only(self) -> dict[str, str]:
        """The filters as columns of the usage tables (api/usage_counts.py)."""
        columns = {"endpoint": self.endpoint, "client": self.client, "credential": self.key}
        return {name: value for name, value in columns.items() if value}

    def bounds(self) -> tuple[datetime, datetime]:
        return self.span.bounds(clock.now())

    def address(self, **changes: str) -> str:
        """Return the query string with changed parameters. "" removes one."""
        parts = {"range": self.span.name, "endpoint": self.endpoint, "client": self.client, "key": self.key} | changes
        return f"?{urlencode({name: value for name, value in parts.items() if value})}"
