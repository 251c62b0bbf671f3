"""What ends when a person's account does: everything that was given out in their name (security rule 17)."""

from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.signals import pre_delete
from django.dispatch import receiver

from accounts.data import blocking_deletion, exporting
from accounts.models import Account
from accounts.signals import access_ended
from devportal.lib import clock
from oidc.models import Connection, Family, ProjectMember


@receiver(access_ended)
def end_everything(sender: Any, account: Account, **kwargs: Any) -> None:
    """End codes and tokens of a person who was deactivated or is about to be deleted."""
    live = Family.objects.filter(connection__account=account, revoked_at=None)
    live.update(revoked_at=clock.now(), revoked_why="account ended")


@receiver(exporting)
def export_connections(sender: Any, account: Account, **kwargs: Any) -> dict[str, Any]:
    """Return which apps the person connected, for their own export."""
    rows = Connection.objects.filter(account=account).select_related("client")
    return {
        "connected_apps": [
            {
                "app": row.client.name,
                "scopes": row.scopes.split(),
                "first_authorized_at": row.first_authorized_at.isoformat(),
                "last_authorized_at": row.last_authorized_at.isoformat(),
                "removed_at": row.removed_at.isoformat() if row.removed_at else None,
            }
            for row in rows
        ]
    }


@receiver(blocking_deletion)
def keep_the_last_owner(sender: Any, account: Account, **kwargs: Any) -> list[str]:
    """A project is never left without an owner."""
    owner = ProjectMember.Role.OWNER
    others = ProjectMember.objects.filter(project=OuterRef("project"), role=owner).exclude(account=account)
    alone = ProjectMember.objects.filter(account=account, role=owner).exclude(Exists(others))
    return [
        f"You are the only owner of the project {member.project.name}: hand it over or delete it first."
        for member in alone.select_related("project")
    ]


@receiver(pre_delete, sender=Account)
def forget_person(sender: Any, instance: Account, **kwargs: Any) -> None:
    """Before an account goes: nothing stays alive, and the connections that the cap counts name nobody."""
    with transaction.atomic():
        end_everything(sender, instance)
        Connection.objects.filter(account=instance).update(scopes="", removed_at=clock.now())
