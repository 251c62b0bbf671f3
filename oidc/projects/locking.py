"""Locking a project's row."""

from oidc.models import Project


class Gone(Exception):
    """The object was deleted, or the actor has no access to it any more."""


def lock_project(project_pk: int, *, deleted: bool = False) -> Project:
    """Return a project with its row locked, as it is now. Raises Gone. Call it inside a transaction.

    With `deleted` it has to be deleted, otherwise it must not be. For what a member does there is
    `oidc.projects.roles.lock_for_change`, which checks their role as well. This is for what others do: who answers an
    invitation, operators, commands. Of many at once each sees what the others did.
    """
    rows = Project.objects.select_for_update(no_key=True)
    row = rows.filter(pk=project_pk, deleted_at__isnull=not deleted).first()
    if row is None:
        raise Gone
    return row
