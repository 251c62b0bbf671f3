"""Create, rename, delete and restore projects, and limit how many one person may own."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from accounts.models import Account, PairwiseSubject
from core import clock
from core.names import validate_name
from oidc.models import Client, ClientSecret, Project, ProjectDomain, ProjectMember, TokenFamily
from oidc.projects.colleagues import remember_members
from oidc.projects.roles import Gone, Role, lock_for_change, lock_project, report_project_event
from oidc.signals import project_ended
from oidc.values.reasons import Reason


class QuotaExceeded(Exception):
    """A maximum number, such as that of projects or clients, is reached. The argument is a message for the person."""


def check_project_quota(account: Account, whose: str = "You own") -> None:
    """Raise QuotaExceeded if a person may own no further project. Call it inside a transaction.

    It locks the person's row. If you also lock the project, do so before.
    """
    Account.objects.select_for_update(no_key=True).get(pk=account.pk)
    owned = ProjectMember.objects.filter(account=account, role=Role.OWNER)
    if owned.filter(project__deleted_at=None).count() >= settings.PROJECTS_PER_PERSON:
        raise QuotaExceeded(f"{whose} {settings.PROJECTS_PER_PERSON} projects, which is the maximum for one person.")


def check_deleted_project_quota(account: Account) -> None:
    """Raise QuotaExceeded if a person has too many deleted projects that can still be restored.

    Otherwise they could fill the database by creating and deleting projects. Call it after check_project_quota, which
    locks the person's row.
    """
    owned = ProjectMember.objects.filter(account=account, role=Role.OWNER, project__deleted_at__isnull=False)
    if owned.count() >= settings.PROJECTS_PER_PERSON:
        raise QuotaExceeded(
            "You have deleted too many projects recently. You can create a new one once the oldest of them is removed."
        )


@transaction.atomic
def create_project(owner: Account, name: str) -> Project:
    """Create a project owned by `owner` and return it. Raises ValidationError for the name, QuotaExceeded."""
    validate_name(name)
    check_project_quota(owner)
    check_deleted_project_quota(owner)
    project = Project.objects.create(name=name.strip())
    ProjectMember.objects.create(project=project, account=owner, role=Role.OWNER)
    report_project_event("project.created", project, owner, after={"name": project.name})
    return project


@transaction.atomic
def rename_project(project: Project, name: str, actor: Account) -> None:
    """Rename a project. An unchanged name is not validated again. Raises ValidationError, Gone."""
    before = lock_project(project.pk).name
    project.name = name.strip()
    if project.name != before:
        validate_name(name)
        project.save(update_fields=["name"])
        report_project_event("project.renamed", project, actor, before={"name": before}, after={"name": project.name})


def restorable_until(project: Project) -> datetime | None:
    """Return until when a deleted project can be restored; None for a project that is not deleted."""
    return project.deleted_at and project.deleted_at + timedelta(days=settings.PROJECT_RESTORE_DAYS)


def _end_credentials(project: Project, moment: datetime) -> None:
    ClientSecret.objects.filter(client__project=project, revoked_at=None).update(revoked_at=moment)
    live = TokenFamily.objects.filter(connection__client__project=project, revoked_at=None)
    live.update(revoked_at=moment, revocation_reason=Reason.ENDED_PROJECT_DELETED)
    project_ended.send(sender=Project, project=project)


def delete_project(project: Project, actor: Account) -> None:
    """Delete a project and revoke all its credentials (docs/security.md#deletion). It can be restored for a while.

    Raises Gone if it is already deleted, or the actor no longer owns it.
    """
    with lock_for_change(project, actor, Role.OWNER) as me:
        moment = clock.now()
        Project.objects.filter(pk=me.project_id).update(deleted_at=moment)
        project.deleted_at = moment
        _end_credentials(project, moment)
        report_project_event("project.deleted", project, actor, before={"name": me.project.name})


def restore_project(project: Project, actor: Account) -> None:
    """Restore a deleted project with its clients, members, logs and subjects, but without secrets, keys and tokens.

    Its domains are checked again soon, because their proofs were not checked while it was deleted. Raises Gone if it is
    not deleted or can no longer be restored; QuotaExceeded.
    """
    with lock_for_change(project, actor, Role.OWNER, deleted=True) as me:
        until = restorable_until(me.project)
        if until is None or until <= clock.now():
            raise Gone
        check_project_quota(actor)
        # A second time: requests that were running while the project was deleted may have stored new credentials.
        _end_credentials(me.project, clock.now())
        Project.objects.filter(pk=me.project_id).update(deleted_at=None)
        ProjectDomain.objects.filter(project=me.project_id, check_at__isnull=False).update(check_at=clock.now())
        project.deleted_at = None
        report_project_event("project.restored", project, actor)


@transaction.atomic
def purge_project(project: Project) -> bool:
    """Delete a project and all its rows; return False if its owner has restored it in the meantime.

    Its ids are random, so they are never used again.
    """
    over = clock.now() - timedelta(days=settings.PROJECT_RESTORE_DAYS)
    row = Project.objects.select_for_update().filter(pk=project.pk, deleted_at__lt=over).first()
    if row is None:
        return False
    report_project_event("project.removed", row, None, before={"name": row.name})
    remember_members(row)
    # Lock the clients before the rows that refer to them, as `remove_consent` does. Otherwise the two could deadlock.
    list(Client.objects.select_for_update().filter(project=row).order_by("pk").values_list("pk"))
    row.delete()
    PairwiseSubject.objects.filter(sector=row.public_id).delete()
    return True
