"""`[[plans]]`: plans, known by their id, and the features that they name."""

from typing import Any

from django.core.validators import validate_slug
from rest_framework import serializers

from accounts.models import Feature, Plan, PlanEntitlement
from accounts.models.plans import MAX_CACHE_SECONDS
from core.http.strict_fields import (
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDictField,
    StrictIntegerField,
    StrictListField,
    StrictNumberField,
)
from devportal.operations.provisioning.toml_tables import NameField, Table

MAX_RANK = 2**31 - 1
MAX_LIMIT = 2**53  # larger integers lose digits in JSON parsers that use floating-point numbers


class EntitlementTable(Table):
    status = StrictChoiceField(PlanEntitlement.Status.values)
    limit = StrictNumberField(min_value=-MAX_LIMIT, max_value=MAX_LIMIT, default=None)
    unit = StrictCharField(max_length=50, allow_blank=True, default=None)
    display_name = NameField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["limit"] is None and attrs["status"] == PlanEntitlement.Status.GRANTED_WITH_LIMIT:
            raise serializers.ValidationError({"limit": "is missing"})
        return attrs | {"unit": attrs["unit"] or None}


class PlanTable(Table):
    id = StrictCharField(max_length=64, validators=[validate_slug])
    display_name = NameField()
    rank = StrictIntegerField(min_value=-MAX_RANK, max_value=MAX_RANK, required=False)
    apps = StrictListField(
        child=StrictCharField(max_length=64, validators=[validate_slug]), unique=True, required=False
    )
    listed = StrictBooleanField(source="is_listed", required=False)
    cache_max_age = StrictIntegerField(min_value=0, max_value=MAX_CACHE_SECONDS, required=False)
    entitlements = StrictDictField(key=StrictCharField(max_length=100), child=EntitlementTable(), required=False)


def apply_plan(values: dict[str, Any]) -> None:
    """Create or update one plan. A missing key changes nothing. Declared features replace the plan's former ones."""
    columns = {name: value for name, value in values.items() if name not in ("id", "entitlements")}
    plan, _ = Plan.objects.update_or_create(plan_id=values["id"], defaults=columns)
    if "entitlements" in values:
        granted = values["entitlements"]
        plan.entitlements.exclude(feature__name__in=granted).delete()
        for name, entitlement in granted.items():
            called = {"display_name": entitlement.pop("display_name")} if "display_name" in entitlement else {}
            feature, _ = Feature.objects.update_or_create(
                name=name, defaults=called, create_defaults={"unit": entitlement["unit"], **called}
            )
            PlanEntitlement.objects.update_or_create(plan=plan, feature=feature, defaults=entitlement)
