"""The `subscription` of a person, a family or an organization: declared in any state."""

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from accounts.models import Plan
from accounts.models.subscriptions import State, validate_addons
from accounts.plans import lifecycle
from accounts.plans.lifecycle import Actor, Holder
from devportal.console.provisioning.toml_tables import InvalidFile, Table

DATES = ("trial_end", "period_end", "read_only_until")


@dataclass(frozen=True)
class DeclaredSubscription:
    """What a subscription's table says, read and checked."""

    plan: Plan
    state: str
    details: dict[str, Any]


def read_subscription(holder: Table) -> DeclaredSubscription | None:
    """Return the subscription that a holder's table declares, None without one."""
    table = holder.table("subscription")
    if table is None:
        return None
    plan_id = table.text("plan")
    plan = Plan.objects.filter(plan_id=plan_id).first()
    if plan is None:
        raise InvalidFile(f"{table.at('plan')}: there is no plan {plan_id}")
    state = table.choice("state", State.values)
    dates = {name: table.moment(name) for name in DATES}
    addons = table.table("addons")
    table.refuse_unknown()
    details: dict[str, Any] = {name: date for name, date in dates.items() if name in table}
    if addons is not None:
        try:
            validate_addons(addons.values)
        except ValidationError as error:
            raise InvalidFile(f"{addons.path}.{' '.join(error.messages)}") from error
        details["addons"] = addons.values
    return DeclaredSubscription(plan, state, details)


def apply_subscription(declared: DeclaredSubscription | None, holder: Holder) -> None:
    """Put the subscription of `holder` in place; without one, leave it as it is."""
    if declared is not None:
        lifecycle.declare_subscription(
            holder, declared.state, Actor("provision"), plan=declared.plan, **declared.details
        )
