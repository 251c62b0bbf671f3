"""How many projects one person may own, deleted ones that can be restored included."""

from django.conf import settings

from accounts.models import Account
from oidc.models import ProjectMember
from oidc.projects.roles import Role


class QuotaExceeded(Exception):
    """A maximum number (of projects, clients, keys, …) is reached; the argument is a message for the person."""


def check_project_quota(account: Account, whose: str = "You own") -> None:
    """Refuse one person more projects than they may own. Raises QuotaExceeded. Call it inside a transaction.

    The person's row is locked, after the project's if that is locked as well.
    """
    Account.objects.select_for_update(no_key=True).get(pk=account.pk)
    owned = ProjectMember.objects.filter(account=account, role=Role.OWNER)
    if owned.filter(project__deleted_at=None).count() >= settings.PROJECTS_PER_PERSON:
        raise QuotaExceeded(f"{whose} {settings.PROJECTS_PER_PERSON} projects, which is the maximum for one person.")


def check_deleted_project_quota(account: Account) -> None:
    """Limit the deleted projects that can still be restored, so that creating and deleting can't fill the database.

    Raises QuotaExceeded. Call it after check_project_quota, which locks the person's row.
    """
    owned = ProjectMember.objects.filter(account=account, role=Role.OWNER, project__deleted_at__isnull=False)
    if owned.count() >= settings.PROJECTS_PER_PERSON:
        raise QuotaExceeded(
            "You have deleted many projects. You can create new ones when the oldest of them is removed."
        )
