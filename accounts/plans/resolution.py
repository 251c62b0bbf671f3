"""The plan of an account, from the database or the operator's service (docs/plans.md#plans-that-live-elsewhere)."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from django.conf import settings
from django.db.models import QuerySet, Subquery
from rest_framework import serializers

from accounts.models import Account, Catalogue, Subscription
from accounts.models.plans import DATES, PlanEntitlement, State
from accounts.plans import catalogue
from accounts.plans.catalogue import CatalogueSnapshot, PlanSnapshot
from accounts.plans.lifecycle import LAPSED_STATES, LIVE_STATES, EffectiveState, effective_state
from accounts.profile.sources import HttpSource, SourceFailed
from core import clock
from core.database.prepared_queries import PreparedQuery, RowMapper
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
        return resolve_plan(account).answer

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


_FIELDS = ("plan_id", "state", *DATES, "addons")
# Sources of a plan, in the order that decides between plans of the same rank.
PATHS = {
    "own": "subscription",
    "family": "family_memberships__family__subscription",
    "organization": "organization_memberships__organization__subscription",
}
_SUBSCRIPTIONS = RowMapper(dict.fromkeys(PATHS.values(), (Subscription, _FIELDS)), attach=False)
_ATTEMPTS = 5


def _of_account(email: str) -> "QuerySet[Any, Any]":
    version = Catalogue.objects.filter(pk=catalogue.ONLY_ROW).values("version")
    return (
        Account.objects.filter(email=email)
        .annotate(catalogue_version=Subquery(version))
        .values_list(*_SUBSCRIPTIONS.paths, "catalogue_version")
    )


_READ = PreparedQuery(["email"], _of_account)


@dataclass(frozen=True)
class Candidate:
    """A subscription that could give a person their plan: their own, a family's or an organization's."""

    source: str
    subscription: Subscription


@dataclass(frozen=True)
class ResolvedPlan:
    """The plan object, the subscription that it comes from (None for `free`), and its current state."""

    answer: dict[str, Any]
    subscription: int | None = None
    effective: EffectiveState | None = None


def resolve_plan(account: Account, moment: datetime | None = None) -> ResolvedPlan:
    """Return the plan of `account` at `moment` (default: now), in one SQL statement if the catalogue is cached.

    Raises SourceFailed.
    """
    moment = moment or clock.now()
    candidates, known = _read(account.email)
    return choose_plan(candidates, known, moment)


def _read(email: str) -> tuple[list[Candidate], CatalogueSnapshot]:
    for _ in range(_ATTEMPTS):
        rows = _READ.rows(email)
        known = catalogue.snapshot_at((rows[0][-1] if rows else catalogue.current_version()) or "")
        if known is None:
            continue
        found = {
            (source, instance.pk): Candidate(source, instance)
            for row in rows
            for instances in (_SUBSCRIPTIONS.build(row),)
            for source, path in PATHS.items()
            if (instance := instances[path]) is not None
        }
        if all(candidate.subscription.plan_id in known.plans for candidate in found.values()):
            return list(found.values()), known
        catalogue.clear_snapshot()
    raise SourceFailed("the plans changed faster than they could be read")


def choose_plan(candidates: list[Candidate], known: CatalogueSnapshot, moment: datetime) -> ResolvedPlan:
    """Return the plan that counts among these subscriptions. A pure function.

    Live before lapsed, then the higher rank, then own before family before organization, then the older row.
    """
    sources = list(PATHS)
    with_states = [(candidate, effective_state(candidate.subscription, moment)) for candidate in candidates]
    until = min((effective.next_change for _, effective in with_states if effective.next_change), default=None)
    counting = [pair for pair in with_states if pair[1].state != State.FREE]
    if not counting:
        return ResolvedPlan(
            _answer(known.free, "free", State.FREE.value, False, {}, _seconds(known.free, until, moment))
        )

    def order(pair: tuple[Candidate, EffectiveState]) -> tuple[bool, int, int, int]:
        candidate, effective = pair
        rank = known.plans[candidate.subscription.plan_id].rank
        return effective.state not in LIVE_STATES, -rank, sources.index(candidate.source), candidate.subscription.pk

    candidate, effective = min(counting, key=order)
    subscription = candidate.subscription
    plan = known.plans[subscription.plan_id]
    seconds = _seconds(plan, until, moment)
    answer = _answer(plan, candidate.source, effective.state, effective.read_only, subscription.addons, seconds)
    return ResolvedPlan(answer, subscription.pk, effective)


def _seconds(plan: PlanSnapshot, until: datetime | None, moment: datetime) -> int:
    """Return `cache_max_age` in seconds: never beyond the time at which the plan changes by date."""
    if until is None:
        return plan.cache_max_age
    return max(0, min(plan.cache_max_age, math.floor((until - moment).total_seconds())))


def _answer(
    plan: PlanSnapshot, source: str, state: str, read_only: bool, addons: dict[str, Any], seconds: int
) -> dict[str, Any]:
    return {
        "plan_id": plan.plan_id,
        "plan_display_name": plan.display_name,
        "source": source,
        "state": state,
        "read_only": read_only,
        "cache_max_age": seconds,
        "apps": list(plan.apps),
        "addons": dict(sorted(addons.items())) or None,
        "entitlements": {name: dict(entitlement) for name, entitlement in plan.entitlements.items()},
    }
