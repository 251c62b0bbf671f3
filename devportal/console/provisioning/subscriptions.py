"""The `subscription` of a person, a family or an organization: declared in any state."""

from typing import Any

from rest_framework.fields import empty

from accounts.models import Plan
from accounts.models.addons import AddonsField
from accounts.models.subscriptions import State
from accounts.plans import lifecycle
from accounts.plans.lifecycle import Actor, Holder
from devportal.console.provisioning.toml_tables import Table
from devportal.lib.strict_fields import StrictCharField, StrictChoiceField, StrictDateTimeField


class PlanField(StrictCharField):
    """The id of a plan that exists; read as the plan."""

    default_error_messages = {"unknown": "there is no plan {plan_id}"}

    def run_validation(self, data: Any = empty) -> Any:
        plan_id = super().run_validation(data)
        plan = Plan.objects.filter(plan_id=plan_id).first()
        if plan is None:
            self.fail("unknown", plan_id=plan_id)
        return plan


class SubscriptionTable(Table):
    plan = PlanField(max_length=64)
    state = StrictChoiceField(State.values)
    trial_end = StrictDateTimeField(required=False)
    period_end = StrictDateTimeField(required=False)
    read_only_until = StrictDateTimeField(required=False)
    addons = AddonsField(required=False)


def apply_subscription(values: dict[str, Any] | None, holder: Holder) -> None:
    """Put the subscription of `holder` in place; without one, leave it as it is."""
    if values is not None:
        details = {name: value for name, value in values.items() if name != "state"}
        lifecycle.declare_subscription(holder, values["state"], Actor("provision"), **details)
