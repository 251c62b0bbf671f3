"""`[[organizations]]`: known by their name."""

from typing import Any

from accounts.models import Organization
from accounts.plans import members
from devportal.console.provisioning.account_lookup import AccountsField
from devportal.console.provisioning.subscriptions import SubscriptionTable, apply_subscription
from devportal.console.provisioning.toml_tables import NameField, Table


class OrganizationTable(Table):
    name = NameField()
    members = AccountsField(required=False)
    subscription = SubscriptionTable(required=False)


def apply_organization(values: dict[str, Any]) -> None:
    """Create or update one organization. Its members are those that are named."""
    organization, _ = Organization.objects.get_or_create(name=values["name"])
    if "members" in values:
        members.set_members(organization, values["members"])
    apply_subscription(values.get("subscription"), organization)
