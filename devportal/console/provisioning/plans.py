"""`[[plans]]`: plans, known by their id, and the features that they name."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug

from accounts.models import Feature, Plan, PlanEntitlement
from accounts.models.plans import CACHE_SECONDS, MAX_CACHE_SECONDS
from devportal.console.provisioning.toml_tables import InvalidFile, Table

MAX_RANK = 2**31 - 1


def apply_plan(table: Table) -> None:
    """Create or update one plan; a key left out changes nothing. What a plan is said to grant replaces what it did."""
    plan_id = table.name("id", validate_slug)
    if len(plan_id) > 64:
        raise InvalidFile(f"{table.at('id')}: must have 1 to 64 characters")
    declared: dict[str, Any] = {
        "display_name": table.text("display_name", longest=100),
        "rank": table.number("rank", 0, least=-MAX_RANK, most=MAX_RANK),
        "apps": table.texts("apps", _check_app),
        "cache_max_age": table.number("cache_max_age", CACHE_SECONDS, least=0, most=MAX_CACHE_SECONDS),
    }
    entitlements = table.table("entitlements")
    granted = {} if entitlements is None else {name: _read(entitlements, name) for name in entitlements.values}
    table.refuse_unknown()

    plan, is_new = Plan.objects.get_or_create(plan_id=plan_id, defaults=declared)
    if not is_new:
        for name, value in declared.items():
            if name in table:
                setattr(plan, name, value)
        plan.save()
    if entitlements is not None:
        plan.entitlements.exclude(feature__name__in=granted).delete()
        for name, values in granted.items():
            feature, _ = Feature.objects.get_or_create(name=name, defaults={"unit": values["unit"]})
            PlanEntitlement.objects.update_or_create(plan=plan, feature=feature, defaults=values)


def _check_app(slug: str) -> None:
    validate_slug(slug)
    if len(slug) > 64:
        raise ValidationError("must have 1 to 64 characters")


def _read(entitlements: Table, name: str) -> dict[str, Any]:
    """Return what the table of one feature says, checked."""
    if not 1 <= len(name) <= 100 or "\x00" in name:
        raise InvalidFile(f"{entitlements.at(name)}: a feature's name must have 1 to 100 characters")
    table = entitlements.table(name)
    assert table is not None
    status = table.choice("status", PlanEntitlement.Status.values)
    limit = table.decimal("limit")
    unit: str | None = table.text("unit", None, longest=50)
    table.refuse_unknown()
    if limit is None and status == PlanEntitlement.Status.GRANTED_WITH_LIMIT:
        raise InvalidFile(f"{table.at('limit')}: is missing")
    return {"status": status, "limit": limit, "unit": unit or None}
