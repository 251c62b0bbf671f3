"""Reporting what happened to a client to the audit trail."""

from typing import Any

from accounts.models import Account
from oidc.models import Client
from oidc.projects.audit import report_project_event


def report_client_event(action: str, client: Client, actor: Account | None, **fields: Any) -> None:
    """Report an audit event of a client; `fields` are those of Event."""
    report_project_event(action, client.project, actor, client.client_id, **fields)
