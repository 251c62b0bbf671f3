"""Where plans come from: the database, or the operator's own service over HTTP (docs/plans.md)."""

import math
from typing import Any, Protocol

from django.conf import settings

from accounts.models import Account
from accounts.models.plans import PlanEntitlement
from accounts.models.subscriptions import State
from accounts.plans import resolution
from accounts.plans.lifecycle import LAPSED_STATES
from accounts.sources import HttpSource, SourceFailed

SOURCES = ("own", "family", "organization", "free")


class PlanSource(Protocol):
    """What knows people's plans."""

    def plan(self, account: Account) -> dict[str, Any]:
        """Return the plan object of specification 2.2. Raises SourceFailed."""
        ...


class DatabasePlans:
    """The plans and subscriptions of this service."""

    def plan(self, account: Account) -> dict[str, Any]:
        return resolution.resolve_plan(account).answer


class HttpPlans:
    """Plans that live elsewhere. What is not exactly a plan is no answer: nothing is guessed, and nobody made free."""

    def __init__(self, source: HttpSource) -> None:
        self._source = source

    def plan(self, account: Account) -> dict[str, Any]:
        return validate_plan(self._source.ask(account))


def validate_plan(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of specification 2.2 from `answer`; others are left out. Raises SourceFailed."""
    plan = {
        "plan_id": _text(answer, "plan_id"),
        "plan_display_name": _text(answer, "plan_display_name"),
        "source": _one_of(answer, "source", SOURCES),
        "state": _one_of(answer, "state", State.values),
        "read_only": _of_type(answer, "read_only", bool),
        "cache_max_age": _of_type(answer, "cache_max_age", int),
        "apps": _of_type(answer, "apps", list),
        "addons": _addons(answer),
        "entitlements": _entitlements(answer),
    }
    if plan["cache_max_age"] < 0:
        raise SourceFailed("cache_max_age is negative")
    if not all(isinstance(slug, str) and slug for slug in plan["apps"]):
        raise SourceFailed("apps is no list of texts")
    if (plan["source"] == "free") != (plan["state"] == State.FREE):
        raise SourceFailed("source and state disagree about what is free")
    if plan["read_only"] and plan["state"] not in LAPSED_STATES:
        raise SourceFailed("read_only without a lapsed plan")
    return plan


def _of_type(values: dict[str, Any], name: str, kind: type) -> Any:
    # Exactly: to Python, true is an int.
    if type(values.get(name)) is not kind:
        raise SourceFailed(f"{name} is missing or has the wrong type")
    return values[name]


def _text(values: dict[str, Any], name: str) -> str:
    text: str = _of_type(values, name, str)
    if not text:
        raise SourceFailed(f"{name} is empty")
    return text


def _one_of(values: dict[str, Any], name: str, known: Any) -> str:
    text = _text(values, name)
    if text not in known:
        raise SourceFailed(f"{name} is unknown")
    return text


def _addons(answer: dict[str, Any]) -> dict[str, Any] | None:
    if "addons" not in answer:
        raise SourceFailed("addons is missing")
    if answer["addons"] is None:
        return None
    addons = _of_type(answer, "addons", dict)
    for entry in addons.values():
        if not isinstance(entry, dict) or type(entry.get("quantity")) is not int or entry["quantity"] < 1:
            raise SourceFailed("an add-on is no object with a quantity of 1 or more")
    return {name: {"quantity": entry["quantity"]} for name, entry in addons.items()} or None


def _entitlements(answer: dict[str, Any]) -> dict[str, Any]:
    entitlements = _of_type(answer, "entitlements", dict)
    return {name: _entitlement(entry) for name, entry in entitlements.items()}


def _entitlement(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise SourceFailed("an entitlement is no object")
    limit, unit = entry.get("limit"), entry.get("unit")
    number = type(limit) is int or (type(limit) is float and math.isfinite(limit))
    if limit is not None and not number:
        raise SourceFailed("a limit is no number")
    if unit is not None and not isinstance(unit, str):
        raise SourceFailed("a unit is no text")
    return {"status": _one_of(entry, "status", PlanEntitlement.Status.values), "limit": limit, "unit": unit}


_source: PlanSource | None = None


def plan_source() -> PlanSource:
    """Return the source of plans that the settings name."""
    global _source
    if _source is None:
        url = settings.PLAN_SOURCE_URL
        _source = HttpPlans(HttpSource(url, settings.SOURCE_TOKEN)) if url else DatabasePlans()
    return _source


def reset() -> None:
    """Choose the source anew at the next question."""
    global _source
    _source = None
