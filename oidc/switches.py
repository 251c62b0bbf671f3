"""Turning clients off and on, and suspending projects: each counts everywhere within 30 seconds (specification 3)."""

from django.db import transaction

from accounts.models import Account
from devportal.lib import clock
from devportal.lib.audit import Event, report
from oidc.models import Client, Project


@transaction.atomic
def turn_client(client: Client, enabled: bool, actor: Account, reason: str = "") -> bool:
    """Turn a client on or off; return whether that changed anything."""
    changed = Client.objects.filter(pk=client.pk, enabled=not enabled).update(enabled=enabled)
    if changed:
        client.enabled = enabled
        action = "client.turned_on" if enabled else "client.turned_off"
        _report(action, actor, client.project, client.client_id, reason, "enabled", not enabled, enabled)
    return bool(changed)


@transaction.atomic
def suspend_project(project: Project, actor: Account, reason: str) -> bool:
    """Suspend a project; return whether that changed anything."""
    moment = clock.now()
    changed = Project.objects.filter(pk=project.pk, suspended_at=None).update(suspended_at=moment)
    if changed:
        project.suspended_at = moment
        _report("project.suspended", actor, project, "", reason, "suspended", False, True)
    return bool(changed)


@transaction.atomic
def lift_suspension(project: Project, actor: Account, reason: str) -> bool:
    """Let a suspended project work again; return whether that changed anything."""
    changed = Project.objects.filter(pk=project.pk, suspended_at__isnull=False).update(suspended_at=None)
    if changed:
        project.suspended_at = None
        _report("project.suspension_lifted", actor, project, "", reason, "suspended", True, False)
    return bool(changed)


def _report(
    action: str, actor: Account, project: Project, target: str, reason: str, field: str, before: bool, after: bool
) -> None:
    details = {"reason": reason} if reason else {}
    event = Event(action, actor.pk, project.public_id, target, details, {field: before}, {field: after})
    report(event)
