"""The structure of a plan object (docs/api.md#get-v1meplan), defined independently of the code."""

import json
from typing import Any

FIELDS = {"plan_id", "plan_display_name", "source", "state", "read_only", "cache_max_age"}
FIELDS |= {"apps", "addons", "entitlements"}
STATES = {"Trial", "Active", "PastDue", "CancelledPeriodActive", "Cancelled", "Expired", "free"}


def check_shape(plan: Any) -> None:
    """Fail unless `plan` is exactly a plan object without contradictions."""
    assert json.loads(json.dumps(plan, allow_nan=False)) == plan
    assert set(plan) == FIELDS
    assert isinstance(plan["plan_id"], str)
    assert plan["plan_id"]
    assert isinstance(plan["plan_display_name"], str)
    assert plan["source"] in {"own", "family", "organization", "free"}
    assert plan["state"] in STATES, f"add {plan['state']} to STATES here, and to docs/plans.md"
    assert (plan["source"] == "free") == (plan["state"] == "free")
    assert plan["read_only"] is (plan["state"] in {"Cancelled", "Expired"})
    assert type(plan["cache_max_age"]) is int
    assert plan["cache_max_age"] >= 0
    assert all(isinstance(slug, str) for slug in plan["apps"])
    assert plan["addons"] is None or plan["addons"]
    for entry in (plan["addons"] or {}).values():
        assert set(entry) == {"quantity"}
        assert entry["quantity"] >= 1
    for entitlement in plan["entitlements"].values():
        assert set(entitlement) == {"status", "limit", "unit"}
        assert entitlement["status"] in {"granted", "granted_with_limit", "denied"}
        assert entitlement["limit"] is None or type(entitlement["limit"]) in (int, float)
        assert entitlement["unit"] is None or isinstance(entitlement["unit"], str)
