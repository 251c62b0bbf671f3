"""Target times of reviews and cases.

A review has REVIEW_TARGET_DAYS with the reviewers, without the time that the developers need for changes
(docs/review.md#the-queue). A case has CASE_TARGET_DAYS, counted from when it was opened (docs/review.md#cases).
"""

from datetime import datetime, timedelta

from django.conf import settings

from core import clock

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def late_before() -> datetime:
    """Return the time before which a waiting submission was submitted if it is late."""
    return clock.now() - settings.REVIEW_TARGET_DAYS * DAY


def time_left(submitted_at: datetime) -> timedelta:
    """Return the time that is left for a submission; negative if it is late."""
    return submitted_at - late_before()


def case_late_before() -> datetime:
    """Return the time before which an open case was opened if it is late."""
    return clock.now() - settings.CASE_TARGET_DAYS * DAY


def case_time_left(opened_at: datetime) -> timedelta:
    """Return the time that is left for a case; negative if it is late."""
    return opened_at - case_late_before()


def in_words(span: timedelta) -> str:
    """Return a span of time in its largest unit, rounded down: "2 d", "3 h", "less than 1 h"."""
    if span >= DAY:
        return f"{span // DAY} d"
    return f"{span // HOUR} h" if span >= HOUR else "less than 1 h"


def age_in_words(since: datetime) -> str:
    """Return how long ago a moment was, in its two largest units: "2 d 3 h", "1 h 30 min", "5 min"."""
    passed = clock.now() - since
    if passed >= DAY:
        return f"{passed // DAY} d {passed % DAY // HOUR} h"
    minutes = f"{passed % HOUR // MINUTE} min"
    if passed >= HOUR:
        return f"{passed // HOUR} h {minutes}"
    return minutes if passed >= MINUTE else "less than 1 min"
