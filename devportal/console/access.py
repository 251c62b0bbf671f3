"""Access control of the console: every object is looked up through the person's memberships.

Outsiders get 404, whether or not the object exists (docs/security.md#the-console). Members whose role is too low get
403. A change checks the role again with the project locked: `oidc.projects.roles.lock_for_change`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest

from accounts.models import Account
from accounts.sessions.authentication import account_of
from devportal.console.models import Notice
from oidc.models import Client, Project, ProjectMember
from oidc.projects.roles import Role, is_at_least

MOST_IN_SWITCHER = 20


@dataclass(frozen=True)
class Membership:
    """A project and the signed-in person's membership in it."""

    project: Project
    account: Account
    role: str

    def is_at_least(self, role: str) -> bool:
        """Return whether the member's role is `role` or higher."""
        return is_at_least(self.role, role)

    @property
    def is_owner(self) -> bool:
        return self.is_at_least(Role.OWNER)

    @property
    def may_edit(self) -> bool:
        """Whether the member may change clients and keys: developers and owners, not viewers."""
        return self.is_at_least(Role.DEVELOPER)


class RoleTooLow(PermissionDenied):
    """The member's role is lower than what the page needs. The page says who can change it."""

    def __init__(self, membership: Membership, at_least: str) -> None:
        super().__init__()
        self.membership = membership
        self.at_least = at_least


@dataclass(frozen=True)
class Switcher:
    """The list of projects in the header, and the number of unread notices.

    `has_more` tells that there are other projects.
    """

    projects: Sequence[Project]
    has_more: bool
    unread: int


def switcher_for(account: Account) -> Switcher:
    """Return at most MOST_IN_SWITCHER of the person's projects, by name, and their notices. Takes one statement."""
    # It does not refer to the outer rows, so the database counts once.
    unread = notices_of(account).filter(read_at=None).order_by().values("account").annotate(number=Count("pk"))
    own = Project.objects.filter(members__account=account, deleted_at=None).order_by("name", "pk")
    own = own.annotate(unread=Coalesce(Subquery(unread.values("number"), output_field=IntegerField()), 0))
    found = list(own[: MOST_IN_SWITCHER + 1])
    return Switcher(found[:MOST_IN_SWITCHER], len(found) > MOST_IN_SWITCHER, found[0].unread if found else 0)


def notices_of(account: Account) -> "QuerySet[Notice]":
    """Return the notices that the console shows to a person: of projects in which they are a member."""
    return Notice.objects.filter(
        account=account, in_console=True, project__deleted_at=None, project__members__account=account
    )


def member_email(project: Project, account: str) -> Subquery:
    """Return an expression for the email address of the account in the column `account`, None unless it is a member.

    The address that people have after they left is no longer the project's business.
    """
    member = ProjectMember.objects.filter(project=project, account=OuterRef(account))
    return Subquery(member.values("account__email")[:1])


def get_membership(
    request: HttpRequest, project_id: str, at_least: str = Role.VIEWER, *, deleted: bool = False
) -> Membership:
    """Return the person's membership in a project. Raises Http404 for outsiders, RoleTooLow.

    Pass `deleted` to get a deleted project, which only people who may restore it can see.
    """
    account = account_of(request)
    member = (
        ProjectMember.objects.filter(account=account, project__public_id=project_id).select_related("project").first()
    )
    if member is None or (member.project.is_deleted and not deleted):
        raise Http404
    membership = Membership(member.project, account, member.role)
    if not membership.is_at_least(at_least):
        raise RoleTooLow(membership, at_least)
    return membership


def get_client(
    request: HttpRequest, project_id: str, client_id: str, at_least: str = Role.VIEWER
) -> tuple[Membership, Client]:
    """Return the membership and a client of the project. Raises Http404, RoleTooLow."""
    membership = get_membership(request, project_id, at_least)
    client = Client.objects.filter(project=membership.project, client_id=client_id).first()
    if client is None:
        raise Http404
    client.project = membership.project
    return membership, client
