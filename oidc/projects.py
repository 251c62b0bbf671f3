"""Projects: making, renaming, deleting, restoring and removing them. Who works on one: oidc/members.py."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.dispatch import Signal

from accounts.models import Account, PairwiseSubject
from devportal.lib import clock
from devportal.lib.audit import Event, report
from oidc.models import ClientSecret, Family, Project, ProjectMember
from oidc.names import check_name
from oidc.roles import Gone, Role, acting

# Sent when a project is deleted, and once more before it is restored: `project`. Floors above end what they gave out
# for it.
project_ended = Signal()


class TooMany(Exception):
    """There are as many of these as there may be; the argument is a sentence for the person."""


def tell(action: str, project: Project, actor: Account | None, target: str = "", **fields: Any) -> None:
    """Report what happened to a project; `fields` are those of Event."""
    report(Event(action, actor.pk if actor else None, project.public_id, target, **fields))


def lock(project_pk: int) -> Project:
    """Return a live project with its row locked, as it is now. Raises Gone. Call it inside a transaction.

    For what a member does there is `oidc.roles.acting`, which asks for their role as well. This is for what others do:
    who answers an invitation, operators, commands. Of many at once each sees what the others did.
    """
    row = Project.objects.select_for_update(no_key=True).filter(pk=project_pk, deleted_at=None).first()
    if row is None:
        raise Gone
    return row


def check_room(account: Account, whose: str = "You own") -> None:
    """Refuse one person more projects than they may own. Raises TooMany. Call it inside a transaction.

    The person's row is locked, after the project's if that is locked as well.
    """
    Account.objects.select_for_update(no_key=True).get(pk=account.pk)
    owned = ProjectMember.objects.filter(account=account, role=Role.OWNER)
    if owned.filter(project__deleted_at=None).count() >= settings.PROJECTS_PER_PERSON:
        raise TooMany(f"{whose} {settings.PROJECTS_PER_PERSON} projects, which is as many as one person may own.")


def _check_deleted(account: Account) -> None:
    """Making and deleting in turns must not fill the database: what can be restored is kept, and counts."""
    owned = ProjectMember.objects.filter(account=account, role=Role.OWNER, project__deleted_at__isnull=False)
    if owned.count() >= settings.PROJECTS_PER_PERSON:
        raise TooMany("You have deleted many projects. You can make new ones when the oldest of those is removed.")


@transaction.atomic
def create(owner: Account, name: str) -> Project:
    """Return a new project of `owner`. Raises ValidationError for the name, TooMany."""
    check_name(name)
    check_room(owner)
    _check_deleted(owner)
    project = Project.objects.create(name=name.strip())
    ProjectMember.objects.create(project=project, account=owner, role=Role.OWNER)
    tell("project.created", project, owner, after={"name": project.name})
    return project


@transaction.atomic
def rename(project: Project, name: str, actor: Account) -> None:
    """Give a project another name. Raises ValidationError, Gone."""
    check_name(name)
    before = lock(project.pk).name
    project.name = name.strip()
    if project.name != before:
        project.save(update_fields=["name"])
        tell("project.renamed", project, actor, before={"name": before}, after={"name": project.name})


# --- Deleting and restoring ---


def restorable_until(project: Project) -> datetime | None:
    """Return the moment until which a deleted project can be restored; None for one that is not deleted."""
    return project.deleted_at and project.deleted_at + timedelta(days=settings.PROJECT_RESTORE_DAYS)


def _end_credentials(project: Project, moment: datetime) -> None:
    ClientSecret.objects.filter(client__project=project, ended_at=None).update(ended_at=moment)
    live = Family.objects.filter(connection__client__project=project, revoked_at=None)
    live.update(revoked_at=moment, revoked_why="project deleted")
    project_ended.send(sender=Project, project=project)


def delete(project: Project, actor: Account) -> None:
    """End every credential of a project now (security rule 17); what it was can be restored for a while.

    Raises Gone when it is deleted already, or not the actor's any more.
    """
    with acting(project, actor, Role.OWNER) as me:
        moment = clock.now()
        Project.objects.filter(pk=me.project_id).update(deleted_at=moment)
        project.deleted_at = moment
        _end_credentials(project, moment)
        tell("project.deleted", project, actor, before={"name": me.project.name})


def restore(project: Project, actor: Account) -> None:
    """Bring a deleted project back: clients, members, logs and its people's ids, but no secret and no key.

    Raises Gone when that is not possible any more, or it is there already; TooMany.
    """
    with acting(project, actor, Role.OWNER, deleted=True) as me:
        until = restorable_until(me.project)
        if until is None or until <= clock.now():
            raise Gone
        check_room(actor)
        # Once more: what was under way when the project was deleted may have been written since.
        _end_credentials(me.project, clock.now())
        Project.objects.filter(pk=me.project_id).update(deleted_at=None)
        project.deleted_at = None
        tell("project.restored", project, actor)


@transaction.atomic
def remove_for_good(project: Project) -> bool:
    """Delete a project and everything that hangs on it; tell whether it went, for its owner may just have restored it.

    Its ids are random, so none is ever given out again.
    """
    over = clock.now() - timedelta(days=settings.PROJECT_RESTORE_DAYS)
    row = Project.objects.select_for_update().filter(pk=project.pk, deleted_at__lt=over).first()
    if row is None:
        return False
    tell("project.removed", row, None, before={"name": row.name})
    row.delete()
    PairwiseSubject.objects.filter(sector=row.public_id).delete()
    return True
