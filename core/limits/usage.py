"""Counting under normalized keys in fixed windows of any length, with django-ratelimit."""

import math
from dataclasses import dataclass

from django_ratelimit.core import get_usage

from core import clock
from core.email_addresses import address_to_find
from core.http.client_ip import limit_key as address
from core.telemetry import metrics

__all__ = ["address", "mailbox_key"]

# Mail providers that ignore dots before the @.
_DOTLESS = frozenset({"gmail.com", "googlemail.com"})


def mailbox_key(recipient: str) -> str:
    """Return the same key for all email addresses that probably lead to the same mailbox.

    Sign-in treats `ada+notes@…` and `ada@…` as two people, but mail to both usually reaches the same person.
    """
    local, _, domain = address_to_find(recipient).rpartition("@")
    local = local.partition("+")[0] or local
    if domain in _DOTLESS:
        local, domain = local.replace(".", ""), "gmail.com"
    return f"{local}@{domain}"


@dataclass(frozen=True)
class Rate:
    """At most `most` in `seconds` for each key within `group`.

    While Redis does not respond, each process counts by itself (`FailoverCache`).
    """

    group: str
    most: int
    seconds: int


class RateLimited(Exception):
    """A limit is reached; `wait` is the number of seconds until the window ends, at least 1.

    `window` is for `undo_hit`, because the refused request was counted too.
    """

    def __init__(self, wait: int, window: int = 0) -> None:
        super().__init__(f"too many requests; try again in {wait} s")
        self.wait, self.window = max(wait, 1), window


def hit(rate: Rate, *key: object) -> int:
    """Count under `key`, and return the window, which is the time when it ends. Raises RateLimited above `rate`."""
    now = int(clock.timestamp())
    count, wait = _count(rate.group, rate, key, increment=True)
    if count > rate.most:
        # In this order: a hit that is taken back after the first line must not make room for one that is counted here.
        taken_back, _ = _count(_taken_back(rate), rate, key, increment=False)
        count = max(count, _count(rate.group, rate, key, increment=False)[0]) - taken_back
    if count > rate.most:
        metrics.LIMITS_MET.count(rate.group)
        raise RateLimited(wait, 0 if count == math.inf else now + wait)
    return now + wait


def seconds_left(rate: Rate, *key: object) -> int:
    """Return for how many seconds `hit` would be refused, 0 if it would pass; counts nothing."""
    count, wait = _count(rate.group, rate, key, increment=False)
    if count >= rate.most:
        count -= _count(_taken_back(rate), rate, key, increment=False)[0]
    return max(wait, 1) if count >= rate.most else 0


def undo_hit(rate: Rate, *key: object, window: int) -> None:
    """Undo one `hit`, unless its window has ended: the next one must not allow more attempts.

    Counting before the attempt prevents races between parallel attempts.
    """
    if clock.timestamp() < window:
        _count(_taken_back(rate), rate, key, increment=True)


def note_failure(rate: Rate, *key: object) -> None:
    """Note that the attempt of a `hit` has failed, so that it will not be taken back."""
    _count(_failed(rate), rate, key, increment=True)


def may_be_taken_back(rate: Rate, *key: object) -> bool:
    """Return whether attempts that have not ended yet use up the limit, and not only ones that have failed."""
    return _count(_failed(rate), rate, key, increment=False)[0] < rate.most


def _taken_back(rate: Rate) -> str:
    # django-ratelimit only counts upwards. A window's end depends on key and length, so both counts end together.
    return f"{rate.group}, taken back"


def _failed(rate: Rate) -> str:
    return f"{rate.group}, failed"


def _count(group: str, rate: Rate, key: tuple[object, ...], increment: bool) -> tuple[float, int]:
    """Return the count, infinity if it was lost, and the seconds until the window ends."""
    # The key has to be encodable, and what people type may contain a lone surrogate.
    value = " ".join(map(str, key)).encode("utf-8", "backslashreplace").decode()
    period = (rate.most, rate.seconds)
    usage = get_usage(None, group=group, key=lambda *_: value, rate=period, increment=increment)
    if usage is None:  # RATELIMIT_ENABLE is False
        return 0, 0
    if usage["should_limit"] and not usage["count"]:  # a count that just existed is gone; treat the limit as reached
        return math.inf, 1
    # Negative if the window ended after the library had chosen it: it counted in that window.
    return usage["count"], max(usage["time_left"], 0)
