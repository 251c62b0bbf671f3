"""The catalogue (plans, features, entitlements), cached in the process until its version changes.

The query for a person's subscriptions also returns the catalogue's version; the catalogue is only read again if that
differs from the cached version.
"""

from dataclasses import dataclass
from typing import Any

from accounts.models import Catalogue, Feature, Plan, PlanEntitlement
from accounts.models.plans import CACHE_SECONDS
from core.credentials import random_text

FREE_ID = "free"
ONLY_ROW = 1
_ATTEMPTS = 5

Entitlement = dict[str, Any]


@dataclass(frozen=True)
class PlanSnapshot:
    """One plan in the form of `/v1/me/plan`: with an entitlement for every feature."""

    plan_id: str
    display_name: str
    rank: int
    apps: tuple[str, ...]
    cache_max_age: int
    entitlements: dict[str, Entitlement]
    is_listed: bool = True


@dataclass(frozen=True)
class CatalogueSnapshot:
    """The cached catalogue: all plans by primary key, the plan `free`, and the display name of each feature."""

    version: str
    plans: dict[int, PlanSnapshot]
    free: PlanSnapshot
    feature_names: dict[str, str]


_kept: CatalogueSnapshot | None = None


def snapshot_at(version: str) -> CatalogueSnapshot | None:
    """Return the catalogue of this version, or None if it has changed since."""
    global _kept
    known = _kept
    if known is None or known.version != version:
        known = _kept = read_snapshot()
    return known if known.version == version else None


def clear_snapshot() -> None:
    """Empty the cache."""
    global _kept
    _kept = None


def current_version() -> str:
    """Return the version in the database; "" if there is none yet."""
    return Catalogue.objects.filter(pk=ONLY_ROW).values_list("version", flat=True).first() or ""


def current_snapshot() -> CatalogueSnapshot:
    """Return the current catalogue."""
    return snapshot_at(current_version()) or read_snapshot()


def bump_version() -> None:
    """Change the version, which invalidates the cache of every process. Call it after a queryset's `update()` too."""
    Catalogue.objects.update_or_create(pk=ONLY_ROW, defaults={"version": random_text(16)})


def read_snapshot() -> CatalogueSnapshot:
    """Read the catalogue until its version is the same before and after, so that two versions are never mixed."""
    for _ in range(_ATTEMPTS):
        version = current_version()
        known = _parse(version)
        if current_version() == version:
            break
    return known


def _parse(version: str) -> CatalogueSnapshot:
    # Sorted here: databases differ in how they sort texts.
    rows = sorted(Feature.objects.values_list("pk", "name", "display_name"), key=lambda row: row[1])
    features = [(pk, name) for pk, name, _ in rows]
    said: dict[tuple[int, int], Entitlement] = {
        (entitlement.plan_id, entitlement.feature_id): {
            "status": entitlement.status,
            "limit": whole_number(entitlement.limit),
            "unit": entitlement.unit or None,
        }
        for entitlement in PlanEntitlement.objects.all()
    }
    denied: Entitlement = {"status": "denied", "limit": None, "unit": None}
    plans = {
        plan.pk: PlanSnapshot(
            plan_id=plan.plan_id,
            display_name=plan.display_name,
            rank=plan.rank,
            apps=tuple(plan.apps),
            cache_max_age=plan.cache_max_age,
            entitlements={name: said.get((plan.pk, feature), denied) for feature, name in features},
            is_listed=plan.is_listed,
        )
        for plan in Plan.objects.all()
    }
    built_in = PlanSnapshot(FREE_ID, "Free", 0, (), CACHE_SECONDS, {name: denied for _, name in features})
    free = next((plan for plan in plans.values() if plan.plan_id == FREE_ID), built_in)
    return CatalogueSnapshot(version, plans, free, {name: words or in_words(name) for _, name, words in rows})


def in_words(name: str) -> str:
    """Return a display name for a name that programs use: "shared_notebooks" is "Shared notebooks"."""
    words = " ".join(name.replace("_", " ").replace("-", " ").split())
    return words[:1].upper() + words[1:]


def whole_number(value: float | None) -> float | int | None:
    """Return whole numbers as int: 10 and not 10.0."""
    return int(value) if value is not None and value.is_integer() else value
