"""Plan sources: the database, or the operator's HTTP service (docs/plans.md#plans-that-live-elsewhere)."""

from typing import Any, Protocol

from django.conf import settings
from rest_framework import serializers

from accounts.models import Account
from accounts.models.plans import PlanEntitlement
from accounts.models.subscriptions import State
from accounts.plans import resolution
from accounts.plans.lifecycle import LAPSED_STATES
from accounts.sources import HttpSource, SourceFailed
from core.http.strict_fields import (
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDictField,
    StrictIntegerField,
    StrictListField,
    StrictNumberField,
    TypedSerializer,
    first_error,
)

SOURCES = ("own", "family", "organization", "free")


class PlanSource(Protocol):
    """Interface of a plan source."""

    def plan(self, account: Account) -> dict[str, Any]:
        """Return the plan object of `/v1/me/plan`. Raises SourceFailed."""
        ...

    def plan_and_use(self, account: Account) -> tuple[dict[str, Any], dict[str, float]]:
        """Return the same, and the used amount of each feature, if the source reports it. Raises SourceFailed."""
        ...


class DatabasePlans:
    """The plans and subscriptions of this service."""

    def plan(self, account: Account) -> dict[str, Any]:
        return resolution.resolve_plan(account).answer

    def plan_and_use(self, account: Account) -> tuple[dict[str, Any], dict[str, float]]:
        return self.plan(account), {}  # apps count usage themselves, and do not report it


class HttpPlans:
    """Plans from PLAN_SOURCE_URL. An invalid plan object raises SourceFailed; there is no fallback to `free`."""

    def __init__(self, source: HttpSource) -> None:
        self._source = source

    def plan(self, account: Account) -> dict[str, Any]:
        return self.plan_and_use(account)[0]

    def plan_and_use(self, account: Account) -> tuple[dict[str, Any], dict[str, float]]:
        return validate_plan(self._source.ask(account))


class AddonAnswer(TypedSerializer):
    quantity = StrictIntegerField(min_value=1)


class EntitlementAnswer(TypedSerializer):
    status = StrictChoiceField(PlanEntitlement.Status.values)
    limit = StrictNumberField(allow_null=True, default=None)
    unit = StrictCharField(allow_null=True, allow_blank=True, default=None)
    # Only for the person's own page; `/v1/me/plan` does not return it.
    used = StrictNumberField(allow_null=True, min_value=0, default=None)


class PlanAnswer(TypedSerializer):
    """The plan object of `/v1/me/plan` in the response of another service (docs/plans.md)."""

    plan_id = StrictCharField()
    plan_display_name = StrictCharField()
    source = StrictChoiceField(SOURCES)  # type: ignore[assignment]  # DRF has a keyword of this name
    state = StrictChoiceField(State.values)
    read_only = StrictBooleanField()  # type: ignore[assignment]
    cache_max_age = StrictIntegerField(min_value=0)
    apps = StrictListField(child=StrictCharField())
    addons = StrictDictField(child=AddonAnswer(), allow_null=True)
    entitlements = StrictDictField(child=EntitlementAnswer())

    def validate_addons(self, addons: dict[str, Any] | None) -> dict[str, Any] | None:
        return addons or None

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if (attrs["source"] == "free") != (attrs["state"] == State.FREE):
            raise serializers.ValidationError("if one of source and state is free, both must be")
        if attrs["read_only"] and attrs["state"] not in LAPSED_STATES:
            raise serializers.ValidationError({"read_only": "must be false without a lapsed plan"})
        return attrs


# Created once: a serializer copies its fields when it is created, which takes longer than a small plan.
_ANSWER = PlanAnswer()


def validate_plan(answer: Any) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the plan object, and the used amount of each feature; other fields are ignored. Raises SourceFailed."""
    try:
        plan: dict[str, Any] = _ANSWER.run_validation(answer)
    except serializers.ValidationError as error:
        raise SourceFailed(first_error(error, "the plan")) from error
    used = {name: entitlement.pop("used") for name, entitlement in plan["entitlements"].items()}
    return plan, {name: number for name, number in used.items() if number is not None}


_source: PlanSource | None = None


def plan_source() -> PlanSource:
    """Return the source of plans in the settings."""
    global _source
    if _source is None:
        url = settings.PLAN_SOURCE_URL
        _source = HttpPlans(HttpSource(url, settings.SOURCE_TOKEN)) if url else DatabasePlans()
    return _source


def reset() -> None:
    """Drop the cached source, so that the settings are read again."""
    global _source
    _source = None
