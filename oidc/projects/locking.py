"""Locking a project's row."""

from oidc.models import Project


def lock_project(project_pk: int) -> Project:
    """Return a live project with its row locked, as it is now. Raises Gone. Call it inside a transaction.

    For what a member does there is `oidc.projects.roles.lock_for_change`, which asks for their role as well. This is
    for what others do: who answers an invitation, operators, commands. Of many at once each sees what the others did.
    """
    row = Project.objects.select_for_update(no_key=True).filter(pk=project_pk, deleted_at=None).first()
    if row is None:
        raise Gone
    return row


class Gone(Exception):
    """The object was deleted, or the actor has no access to it any more."""
