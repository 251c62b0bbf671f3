"""System checks of the store that limits are counted in, and of the addresses of Redis."""

from typing import Any

import redis
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Tags, register

from core.redis_address import LOST, broker_address, connect, is_cluster, parse_address

TIMEOUT_SECONDS = 1.0
# Beyond it a frozen Redis would hold a request for longer than 300 ms, the connection's set-up included.
LONGEST_REDIS_TIMEOUT = 1.0


@register(Tags.security)
def check_redis_settings(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.E030` to `E032`: addresses that can't be used, a time-out that is none."""
    found: list[CheckMessage] = []
    try:
        if settings.REDIS_URL:
            parse_address(settings.REDIS_URL)
    except ValueError as error:
        found.append(checks.Error(f"REDIS_URL can't be used: {error}.", id="devportal.E030"))
    try:
        broker_address(settings.BROKER_URL or settings.REDIS_URL)
    except ValueError as error:
        text = f"The address of Celery's broker can't be used: {error}."
        found.append(checks.Error(text, hint="Set BROKER_URL.", id="devportal.E031"))
    if not 0 < settings.REDIS_TIMEOUT_SECONDS <= LONGEST_REDIS_TIMEOUT:
        text = f"REDIS_TIMEOUT_SECONDS must be above 0 and at most {LONGEST_REDIS_TIMEOUT:.0f}."
        found.append(checks.Error(text, id="devportal.E032"))
    return found


@register(Tags.database)  # it connects, so it runs where Django's own checks do: at `migrate`, or with --database
def check_eviction_policy(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.W001`: a Redis that evicts forgets limits which others push out."""
    if not settings.REDIS_URL:
        return []
    try:
        servers = _memory_of_servers(connect(settings.REDIS_URL, TIMEOUT_SECONDS, TIMEOUT_SECONDS))
    except (*LOST, ValueError):
        return []  # that it does not answer is told by /health/ready, what is wrong with its address by E030
    policies = {memory.get("maxmemory_policy", "noeviction") for memory in servers if memory.get("maxmemory")}
    if policies <= {"noeviction"}:
        return []
    named = ", ".join(sorted(policies - {"noeviction"}))
    text = f"Redis evicts entries when its memory is full ({named}): limits can be pushed out by others."
    return [checks.Warning(text, hint="Set maxmemory-policy to noeviction.", id="devportal.W001")]


def _memory_of_servers(client: Any) -> list[dict[str, Any]]:
    try:
        if is_cluster(settings.REDIS_URL):
            found: dict[str, dict[str, Any]] = client.info("memory", target_nodes=redis.RedisCluster.PRIMARIES)
            # Of one node the library returns the answer itself.
            return [found] if "maxmemory_policy" in found else list(found.values())
        return [client.info("memory")]
    finally:
        client.close()
