"""The time range of the sign-in analytics, from the query parameters."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.http import HttpRequest

from core import clock
from devportal.console.usage.query import TIME_RANGES, TimeRange

_DAY = timedelta(days=1)
_QUARTER = TimeRange("90d", "90 days", "90 days", "day", _DAY, 90, 90 * _DAY)
RANGES = (*(span for span in TIME_RANGES if span.unit != "minute"), _QUARTER)
_BY_NAME = {span.name: span for span in RANGES}
LEAST_DAYS = 7  # of people, who are counted by day


@dataclass(frozen=True)
class AnalyticsQuery:
    """The time range up to `now`."""

    span: TimeRange
    now: datetime

    @classmethod
    def of(cls, request: HttpRequest) -> "AnalyticsQuery":
        """Parse the query parameters. An unknown range counts as the default of 7 days."""
        return cls(_BY_NAME.get(request.GET.get("range", ""), _BY_NAME["7d"]), clock.now())

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        """The start (inclusive) and end (exclusive)."""
        return self.span.bounds(self.now)

    @property
    def is_whole_days(self) -> bool:
        """Whether the range begins and ends at midnight (UTC), so that counts by day are enough."""
        return self.span.whole > _DAY

    @property
    def starts(self) -> list[datetime]:
        """The starts of the bars that have begun."""
        since, _ = self.bounds
        return [start for place in range(self.span.bars) if (start := since + place * self.span.step) <= self.now]

    @property
    def days(self) -> list[datetime]:
        """The days (UTC) for the counts of people: those of the range, at least seven."""
        today = self.now.replace(hour=0, minute=0, second=0, microsecond=0)
        number = max(self.span.whole // _DAY, LEAST_DAYS)
        return [today - (number - 1 - place) * _DAY for place in range(number)]

    @property
    def address(self) -> str:
        """The query string."""
        return f"?range={self.span.name}"

    def choices(self) -> list[dict[str, object]]:
        """Return the time ranges to choose from."""
        return [
            {"label": span.label, "address": f"?range={span.name}", "is_current": span is self.span} for span in RANGES
        ]
