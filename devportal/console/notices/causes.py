"""Raise notices about events of lower layers: credentials, owners, clients, leaks and paused deliveries."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from django.db.models.signals import post_delete
from django.dispatch import receiver

from core.audit import Event, happened
from devportal.console.models import Notice, NoticeSettings
from devportal.console.notices.kinds import NoticeKind
from devportal.console.notices.raising import notify
from devportal.console.notices.texts import Part, register_parts
from oidc.models import Client, EventReceiver, Project, ProjectMember
from oidc.projects.roles import Role
from oidc.signals import credential_leaked, receiver_paused


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
    """Raise a notice if an operator turned the app off, not if a member did."""
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


@receiver(receiver_paused)
def notice_pause(sender: Any, receiver: EventReceiver, **kwargs: Any) -> None:
    """Raise the notice about a receiver that is paused because it keeps failing, in its transaction."""
    client, host = receiver.client, urlsplit(receiver.url).hostname or ""
    notify(client.project, NoticeKind.DELIVERIES_PAUSED, client=client, details={"host": host})


# By the kind of the credential, and whether it was revoked.
_LEAKS = {
    ("client_secret", False): NoticeKind.SECRET_LEAKED,
    ("client_secret", True): NoticeKind.SECRET_LEAKED_AND_REVOKED,
    ("api_key", False): NoticeKind.KEY_LEAKED,
    ("api_key", True): NoticeKind.KEY_LEAKED_AND_REVOKED,
}


@receiver(credential_leaked)
def notice_leak(
    sender: Any, project: Project, client: Client | None, credential: str, label: str, revoked: bool, **kwargs: Any
) -> None:
    """Raise the notice about a leaked credential, in the transaction that revokes or flags it."""
    details = {"label": label, "url": kwargs.get("url", "")}
    notify(project, _LEAKS[credential, revoked], client=client, details=details)


def _leak_parts(details: Mapping[str, Any]) -> list[Part]:
    """Return where a leaked credential was found, for the email."""
    return [Part("Where it was found:", [details["url"]])] if details.get("url") else []


register_parts(_LEAKS.values(), _leak_parts)


@receiver(post_delete, sender=ProjectMember)
def forget_former_member(sender: Any, instance: ProjectMember, **kwargs: Any) -> None:
    """Delete the notices and settings of a member who leaves or is removed, and do not name them in those of others.

    Notices show the email address that someone has now, which is no longer the project's business.
    """
    for model in (Notice, NoticeSettings):
        model._default_manager.filter(project=instance.project_id, account=instance.account_id).delete()
    for role in ("actor", "person"):
        Notice.objects.filter(project=instance.project_id, **{role: instance.account_id}).update(**{role: None})
