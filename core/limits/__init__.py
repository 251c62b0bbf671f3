"""Rate limits of pages and forms, with django-ratelimit (docs/limits.md).

`usage` counts requests and normalizes keys, `middleware` limits the marked forms and returns 429, and `store` is the
cache that holds the counts. Endpoints for apps use core/limits/counters.py instead.
"""

from core.limits.usage import (
    Rate,
    RateLimited,
    hit,
    may_be_taken_back,
    note_failure,
    seconds_left,
    undo_hit,
)

__all__ = ["Rate", "RateLimited", "hit", "may_be_taken_back", "note_failure", "seconds_left", "undo_hit"]
