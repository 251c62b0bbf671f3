"""Reporting what happened to a family or an organization to the audit trail."""

from typing import Any

from accounts.models import Account, Family, Organization
from devportal.lib.audit import Event, report


def report_group_event(action: str, group: Family | Organization, actor: Account | None, **details: Any) -> None:
    """Report an audit event of a group, which is named by its key: that stays when an address or a name changes."""
    target = f"{'family' if isinstance(group, Family) else 'organization'}:{group.pk}"
    report(Event(action, actor.pk if actor else None, target=target, details=details))
