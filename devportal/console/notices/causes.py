"""What lower layers report, as notices: audit events of credentials, owners and clients."""

from collections.abc import Callable, Mapping
from typing import Any

from django.db.models.signals import post_delete
from django.dispatch import receiver

from core.audit import Event, happened
from devportal.console.models import Notice, NoticeSettings
from devportal.console.notices.kinds import NoticeKind
from devportal.console.notices.raising import notify
from oidc.models import Client, Project, ProjectMember
from oidc.projects.roles import Role


def _secret_created(project: Project, event: Event) -> None:
    client = Client.objects.filter(project=project, client_id=event.target).first()
    if client is not None:
        details = {"last_four": event.after["last_four"]}
        notify(project, NoticeKind.SECRET_CREATED, client=client, details=details, actor=event.actor)


def _key_created(project: Project, event: Event) -> None:
    notify(project, NoticeKind.KEY_CREATED, details={"key": event.after["name"]}, actor=event.actor)


def _role_changed(project: Project, event: Event) -> None:
    if event.after.get("role") == Role.OWNER:
        notify(project, NoticeKind.OWNER_ADDED, actor=event.actor, person=event.person)


def _transferred(project: Project, event: Event) -> None:
    notify(project, NoticeKind.PROJECT_TRANSFERRED, actor=event.actor, person=event.person)


def _turned_off(project: Project, event: Event) -> None:
    """Raise a notice if an operator turned the client off, not if a member did."""
    client = Client.objects.filter(project=project, client_id=event.target).first()
    by_member = ProjectMember.objects.filter(project=project, account=event.actor).exists()
    # Only operators give a reason. They may be members as well.
    if client is not None and ("reason" in event.details or not by_member):
        notify(project, NoticeKind.CLIENT_TURNED_OFF, client=client)


_CAUSES: Mapping[str, Callable[[Project, Event], None]] = {
    "client_secret.created": _secret_created,
    "client_secret.rotated": _secret_created,
    "api_key.created": _key_created,
    "api_key.rotated": _key_created,
    "member.role_changed": _role_changed,
    "invitation.accepted": _role_changed,
    "project.transferred": _transferred,
    "client.turned_off": _turned_off,
}


@receiver(happened)
def raise_notice(sender: Any, event: Event, **kwargs: Any) -> None:
    """Raise the notice of an audit event, in its transaction. Most events have none."""
    cause = _CAUSES.get(event.action)
    if cause is None or event.project is None:
        return
    project = Project.objects.filter(public_id=event.project).first()
    if project is not None:
        cause(project, event)


@receiver(post_delete, sender=ProjectMember)
def forget_former_member(sender: Any, instance: ProjectMember, **kwargs: Any) -> None:
    """Delete the notices and settings of a member who leaves or is removed."""
    for model in (Notice, NoticeSettings):
        model._default_manager.filter(project=instance.project_id, account=instance.account_id).delete()
