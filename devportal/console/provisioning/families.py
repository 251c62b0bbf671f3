"""`[[families]]`: people who share a plan, known by their owner."""

from accounts.plans import members
from devportal.console.provisioning.account_lookup import account_named, accounts_named
from devportal.console.provisioning.subscriptions import apply_subscription, read_subscription
from devportal.console.provisioning.toml_tables import Table


def apply_family(table: Table) -> None:
    """Create or update one family. Its members are those that are named, and its owner."""
    owner = account_named(table, "owner")
    named = accounts_named(table, "members")
    subscription = read_subscription(table)
    table.refuse_unknown()

    family = members.get_or_create_family(owner)
    if "members" in table:
        members.set_members(family, named)
    apply_subscription(subscription, family)
