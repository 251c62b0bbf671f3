"""When things happen in the demo's week: busy at noon, quiet at night and on Sundays. Only the clock decides."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

_HOUR = timedelta(hours=1)
# How busy each hour of a day (UTC) and each day of a week, from Monday, is beside the others.
_BY_HOUR = (1, 1, 1, 1, 1, 2, 4, 7, 10, 12, 11, 10, 9, 11, 12, 11, 10, 9, 8, 8, 7, 5, 3, 2)
_BY_WEEKDAY = (10, 11, 11, 10, 9, 5, 4)
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789"


def share(*parts: object) -> float:
    """Return a number from 0 to below 1 that looks like chance, and is the same for the same parts."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=6).digest(), "big") / 2**48


def text(length: int, *parts: object) -> str:
    """Return letters and digits that look like chance, and are the same for the same parts."""
    raw = hashlib.blake2b(repr(parts).encode(), digest_size=length).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in raw)


@dataclass(frozen=True)
class Week:
    """Seven days up to `until`, and the evening on which things went wrong: from 18:40 of the last but one day on."""

    until: datetime

    @property
    def since(self) -> datetime:
        return self.until.replace(minute=0, second=0, microsecond=0) - timedelta(days=7)

    @property
    def incident(self) -> tuple[datetime, datetime]:
        begin = (self.until - timedelta(days=2)).replace(hour=18, minute=40, second=0, microsecond=0)
        return begin, begin + timedelta(hours=2, minutes=20)

    def is_incident(self, moment: datetime) -> bool:
        begin, end = self.incident
        return begin <= moment < end

    def moments(self, what: str, number: int) -> Iterator[datetime]:
        """Yield about `number` times of the week, in their order, each within the rhythm."""
        hours = [self.since + place * _HOUR for place in range(7 * 24 + 1)]
        weights = [_BY_HOUR[hour.hour] * _BY_WEEKDAY[hour.weekday()] for hour in hours]
        scale = number / sum(weights)
        for hour, weight in zip(hours, weights, strict=True):
            times = int(weight * scale + share(what, hour))
            for moment in sorted(hour + share(what, hour, place) * _HOUR for place in range(times)):
                if moment < self.until:
                    yield moment
