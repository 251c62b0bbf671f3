"""`[[organizations]]`: known by their name."""

from accounts.models import Organization
from accounts.plans import members
from devportal.console.provisioning.account_lookup import accounts_named
from devportal.console.provisioning.subscriptions import apply_subscription, read_subscription
from devportal.console.provisioning.toml_tables import Table


def apply_organization(table: Table) -> None:
    """Create or update one organization. Its members are those that are named."""
    name = table.text("name", longest=100)
    named = accounts_named(table, "members")
    subscription = read_subscription(table)
    table.refuse_unknown()

    organization, _ = Organization.objects.get_or_create(name=name)
    if "members" in table:
        members.set_members(organization, named)
    apply_subscription(subscription, organization)
