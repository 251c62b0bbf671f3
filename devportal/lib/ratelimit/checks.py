"""A system check of the store that limits are counted in."""

from typing import Any

import redis
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Tags, register

TIMEOUT_SECONDS = 1.0


@register(Tags.database)  # it connects, so it runs where Django's own checks do: at `migrate`, or with --database
def check_eviction_policy(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.W001`: a Redis that evicts forgets limits which others push out."""
    if not settings.REDIS_URL:
        return []
    client = redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS
    )
    try:
        memory: dict[str, Any] = client.info("memory")
    except redis.RedisError:
        return []  # that it does not answer is told by /health/ready
    finally:
        client.close()
    policy = memory.get("maxmemory_policy", "noeviction")
    if not memory.get("maxmemory") or policy == "noeviction":
        return []
    text = f"Redis evicts entries when its memory is full ({policy}): limits can be pushed out by others."
    return [checks.Warning(text, hint="Set maxmemory-policy to noeviction.", id="devportal.W001")]
