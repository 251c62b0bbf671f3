"""Rate limits of pages and forms, with django-ratelimit (docs/limits.md).

`usage` counts, `keys` normalizes keys, `middleware` limits forms by URL name and answers 429,
`store` is the cache that the counts are in. Endpoints for apps count with core/limits/counters.py instead.
"""

from core.limits.usage import Rate, RateLimited, hit, seconds_left, undo_hit

__all__ = ["Rate", "RateLimited", "hit", "seconds_left", "undo_hit"]
