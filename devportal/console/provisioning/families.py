"""`[[families]]`: people who share a plan, known by their owner."""

from typing import Any

from accounts.plans import members
from devportal.console.provisioning.account_lookup import AccountField, AccountsField
from devportal.console.provisioning.subscriptions import SubscriptionTable, apply_subscription
from devportal.console.provisioning.toml_tables import Table


class FamilyTable(Table):
    owner = AccountField()
    members = AccountsField(required=False)
    subscription = SubscriptionTable(required=False)


def apply_family(values: dict[str, Any]) -> None:
    """Create or update one family. Its members are those that are named, and its owner."""
    family = members.get_or_create_family(values["owner"])
    if "members" in values:
        members.set_members(family, values["members"])
    apply_subscription(values.get("subscription"), family)
