"""Resolve the one plan that counts for a person (docs/plans.md#which-plan-counts), as `/v1/me/plan` returns it."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet, Subquery

from accounts.models import Account, Catalogue, Subscription
from accounts.models.subscriptions import DATES, State
from accounts.plans import catalogue
from accounts.plans.catalogue import CatalogueSnapshot, PlanSnapshot
from accounts.plans.lifecycle import LIVE_STATES, EffectiveState, effective_state
from accounts.sources import SourceFailed
from core import clock
from core.database.prepared_queries import PreparedQuery, RowMapper

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
