"""System checks of the store that holds the counts of limits, and of the URLs of Redis."""

from typing import Any

import redis
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Tags, register

from core.redis_address import LOST, broker_address, connect, is_cluster, parse_address

TIMEOUT_SECONDS = 1.0
# With a longer time-out, a frozen Redis would delay a request by more than 300 ms, including connecting.
LONGEST_REDIS_TIMEOUT = 1.0


@register(Tags.security)
def check_redis_settings(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E030` to `E032`: URLs that can't be used, and an invalid time-out."""
    found: list[CheckMessage] = []
    try:
        if settings.REDIS_URL:
            parse_address(settings.REDIS_URL)
    except ValueError as error:
        found.append(checks.Error(f"REDIS_URL can't be used: {error}.", id="devportal.E030"))
    try:
        broker_address(settings.BROKER_URL or settings.REDIS_URL)
    except ValueError as error:
        text = f"The URL of Celery's broker can't be used: {error}."
        found.append(checks.Error(text, hint="Set BROKER_URL.", id="devportal.E031"))
    if not 0 < settings.REDIS_TIMEOUT_SECONDS <= LONGEST_REDIS_TIMEOUT:
        text = f"REDIS_TIMEOUT_SECONDS must be above 0 and at most {LONGEST_REDIS_TIMEOUT:.0f}."
        found.append(checks.Error(text, id="devportal.E032"))
    return found


@register(Tags.database)  # it connects to Redis, so it runs with Django's checks that connect: `migrate`, --database
def check_eviction_policy(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.W001`: a Redis that evicts entries can lose the counts of limits."""
    if not settings.REDIS_URL:
        return []
    try:
        servers = _memory_of_servers(connect(settings.REDIS_URL, TIMEOUT_SECONDS, TIMEOUT_SECONDS))
    except (*LOST, ValueError):
        return []  # /health/ready reports an outage, and E030 a wrong URL
    policies = {memory.get("maxmemory_policy", "noeviction") for memory in servers if memory.get("maxmemory")}
    if policies <= {"noeviction"}:
        return []
    named = ", ".join(sorted(policies - {"noeviction"}))
    text = f"Redis evicts entries when its memory is full ({named}), so the counts of limits can be lost."
    return [checks.Warning(text, hint="Set maxmemory-policy to noeviction.", id="devportal.W001")]


def _memory_of_servers(client: Any) -> list[dict[str, Any]]:
    try:
        if is_cluster(settings.REDIS_URL):
            found: dict[str, dict[str, Any]] = client.info("memory", target_nodes=redis.RedisCluster.PRIMARIES)
            # For a single node, the library returns the node's response itself.
            return [found] if "maxmemory_policy" in found else list(found.values())
        return [client.info("memory")]
    finally:
        client.close()
