"""What plan a person has. Until plans are sold here, everybody has the free one."""

from typing import Any

FREE_CACHE_SECONDS = 300


def plan_of(account_id: int) -> dict[str, Any]:
    """Return the plan object of specification 2.2."""
    return {
        "plan_id": "free",
        "plan_display_name": "Free",
        "source": "free",
        "state": "free",
        "read_only": False,
        "cache_max_age": FREE_CACHE_SECONDS,
        "apps": [],
        "addons": None,
        "entitlements": {},
    }
