"""People who share a project now, or did so within the last year, even if they left it or the project is deleted.

App review uses this so that nobody decides on the app of someone they work with
(docs/review.md#conflicts-of-interest).
"""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from core import clock
from oidc.models import FormerMember, MemberOfRemovedProject, Project, ProjectMember

# How long people still count as colleagues after one of them left the shared project, or an owner transferred it.
REMEMBERED = timedelta(days=365)


def remembered_since() -> datetime:
    """Return the time since which former memberships and owners still count."""
    return clock.now() - REMEMBERED


def colleagues_of(account: Any, since: Any, column: str = "account") -> Q:
    """Return the condition that `column` is a person who shares a project with this account, or did since then.

    `account` is a primary key and `since` is a time (usually `remembered_since()`), or they are expressions for them.
    The account itself is included.
    """
    return (
        Q(**{f"{column}__in": _members(account).values("account")})
        | Q(**{f"{column}__in": _members_after(account, since).values("account")})
        | Q(**{f"{column}__in": _former_members(account, since).values("account")})
        | Q(**{f"{column}__in": _both_former_members(account, since).values("account")})
        | Q(**{f"{column}__in": _members_of_removed_projects(account, since).values("account")})
    )


def _members(account: Any) -> "QuerySet[ProjectMember]":
    return ProjectMember.objects.filter(project__members__account=account)


def _members_after(account: Any, since: Any) -> "QuerySet[ProjectMember]":
    """Return members of projects that the account has left. They were members before it left."""
    return ProjectMember.objects.filter(
        project__former_members__account=account,
        project__former_members__left_at__gte=since,
        created_at__lte=F("project__former_members__left_at"),
    )


def _former_members(account: Any, since: Any) -> "QuerySet[FormerMember]":
    """Return people who have left a project of the account. They were members after it joined."""
    rows = FormerMember.objects.filter(left_at__gte=since)
    return rows.filter(project__members__account=account, project__members__created_at__lte=F("left_at"))


def _both_former_members(account: Any, since: Any) -> "QuerySet[FormerMember]":
    their_end, their_beginning = "project__former_members__left_at", "project__former_members__joined_at"
    return FormerMember.objects.filter(
        left_at__gte=since,
        joined_at__lte=F(their_end),
        **{f"{their_beginning}__lte": F("left_at"), f"{their_end}__gte": since},
        project__former_members__account=account,
    )


def _members_of_removed_projects(account: Any, since: Any) -> "QuerySet[MemberOfRemovedProject]":
    rows = MemberOfRemovedProject.objects.filter(left_at__gte=since)
    mine = rows.filter(
        account=account,
        project_key=OuterRef("project_key"),
        joined_at__lte=OuterRef("left_at"),
        left_at__gte=OuterRef("joined_at"),
    )
    return rows.filter(Exists(mine))


def remember_members(project: Project) -> None:
    """Store the members of a project that is being permanently deleted, in the caller's transaction."""
    since, end = remembered_since(), project.deleted_at or clock.now()
    present = project.members.values_list("account", "created_at")
    former = FormerMember.objects.filter(project=project, left_at__gte=since)
    rows: list[tuple[int, datetime, datetime]] = []
    if end >= since:
        rows += ((account, joined, end) for account, joined in present)
    rows += former.values_list("account", "joined_at", "left_at")
    MemberOfRemovedProject.objects.bulk_create(
        (
            MemberOfRemovedProject(project_key=project.pk, account_id=account, joined_at=joined, left_at=left)
            for account, joined, left in rows
        ),
        batch_size=500,
    )


def forget_members() -> int:
    """Delete stored memberships that ended more than a year ago; return how many were deleted."""
    return MemberOfRemovedProject.objects.filter(left_at__lt=remembered_since()).delete()[0]
