"""Reporting what happened to a project to the audit trail."""

from typing import Any

from accounts.models import Account
from devportal.lib.audit import Event, report
from oidc.models import Project


def report_project_event(action: str, project: Project, actor: Account | None, target: str = "", **fields: Any) -> None:
    """Report an audit event of a project; `fields` are those of Event."""
    report(Event(action, actor.pk if actor else None, project.public_id, target, **fields))
