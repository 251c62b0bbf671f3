"""How often something may be done off the hot path: django-ratelimit, asked in one place (docs/limits.md).

`usage` counts, `keys` says by what, `middleware` counts forms by their URL name and answers what is beyond a limit,
`store` is the cache that the counts are in. Endpoints for apps count with devportal/lib/ratelimit/counters.py instead.
"""

from devportal.lib.ratelimit.usage import Rate, RateLimited, hit, take_back

__all__ = ["Rate", "RateLimited", "hit", "take_back"]
