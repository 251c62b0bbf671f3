"""Receivers of the accounts layer's signals: deactivation and deletion, data export, the account's home, and emails."""

from collections.abc import Callable, Iterator
from typing import Any

from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.signals import pre_delete
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.data_export.archive import addresses_of, moment, rows_of
from accounts.deletion.deleting import Blocker
from accounts.models import Account, PairwiseSubject
from accounts.signals import (
    access_ended,
    account_enabled,
    blocking_deletion,
    emptying_session,
    exporting,
    listing_apps,
    naming_app,
    showing_home,
)
from core import clock
from oidc.apis.scopes import scope_titles
from oidc.authorization.interactions import add_pending, pending_interactions, take_pending
from oidc.clients.lookup import find_client
from oidc.clients.reviewed_hosts import is_trusted_at
from oidc.domains.branding import client_context
from oidc.events.causes import tell_purged
from oidc.models import (
    AppPage,
    Client,
    Connection,
    Delivery,
    FormerMember,
    MemberOfRemovedProject,
    Project,
    ProjectInvitation,
    ProjectMember,
    TokenFamily,
)
from oidc.projects import invitations
from oidc.projects.holds import hold_rows
from oidc.projects.invitations import invitations_to_account
from oidc.projects.members import note_developer
from oidc.projects.people import keep_places_of_account
from oidc.values.event_types import EventType
from oidc.values.reasons import Reason

APPS_AT_HOME = 4
MOST_LISTED = 200


@receiver(listing_apps)
def list_public_apps(sender: Any, **kwargs: Any) -> dict[str, str]:
    """Return the newest apps with a public page, for the form of a plan."""
    rows = AppPage.objects.select_related("client").order_by("-published_at")[:MOST_LISTED]
    return {page.slug: page.client.name for page in rows}


@receiver(access_ended)
def end_authorizations(sender: Any, account: Account, **kwargs: Any) -> None:
    """Revoke the codes and tokens of a person who is deactivated or deleted, and end their open invitations."""
    live = TokenFamily.objects.filter(connection__account=account, revoked_at=None)
    live.update(revoked_at=clock.now(), revocation_reason=Reason.ENDED_ACCOUNT_CLOSED)
    invitations.end_everywhere(account)


@receiver(account_enabled)
def end_late_authorizations(sender: Any, account: Account, **kwargs: Any) -> None:
    """Revoke again: requests that began before the deactivation was committed may have stored codes and tokens."""
    end_authorizations(sender, account)


@receiver(showing_home)
def note_member(sender: Any, account: Account, request: HttpRequest, **kwargs: Any) -> dict[str, Any]:
    """Show members of projects the link to the console once they open their account's home page."""
    if ProjectMember.objects.filter(account=account).exists():
        note_developer(request)
    return {}


@receiver(showing_home)
def show_connected_apps(sender: Any, account: Account, **kwargs: Any) -> dict[str, Any]:
    """Return the apps that the person used last, for their account's home page.

    It is one more than the page shows, if there are that many, so that the page knows whether to link to the others.
    """
    rows = Connection.objects.filter(account=account, removed_at=None).select_related("client__project")
    latest = rows.order_by("-last_authorized_at")[: APPS_AT_HOME + 1]
    return {"apps": [client_context(row.client) for row in latest], "most_apps": APPS_AT_HOME}


@receiver(exporting)
def export_connections(sender: Any, account: Account, **kwargs: Any) -> dict[str, Any]:
    """Return the person's pairwise ids and connected apps, for the data export."""
    return {"ids": _ids(account), "connected_apps": _connections(account)}


def _ids(account: Account) -> Iterator[dict[str, Any]]:
    """Yield each pairwise `sub` with its project. The name of a permanently deleted project is None."""
    names = dict(
        Project.objects.filter(
            public_id__in=PairwiseSubject.objects.filter(account=account).values("sector")
        ).values_list("public_id", "name")
    )
    for row in rows_of(PairwiseSubject.objects.filter(account=account)):
        yield {
            "project": names.get(row.sector),
            "project_id": row.sector,
            "sub": row.sub,
            "since": moment(row.created_at),
        }


def _connections(account: Account) -> Iterator[dict[str, Any]]:
    for row in rows_of(Connection.objects.filter(account=account).select_related("client__project")):
        yield {
            "app": row.client.name,
            "project": row.client.project.name,
            "scopes": row.scopes.split(),
            "can": scope_titles(row.scopes.split()),
            "removed_scopes": row.removed_scopes.split() if row.removed_at else [],
            "could": scope_titles(row.removed_scopes.split()) if row.removed_at else [],
            "left_out": row.left_out.split(),
            "scopes_outside_review": row.scopes_outside_review or {},
            "first_authorized_at": moment(row.first_authorized_at),
            "last_authorized_at": moment(row.last_authorized_at),
            "removed_at": moment(row.removed_at),
        }


# The text of each event for the person whom it is about.
_EVENTS_TO_PEOPLE = {
    EventType.LOGOUT: "You signed out of the service",
    EventType.SESSION_REVOKED: "One of your sessions ended",
    EventType.SESSIONS_REVOKED: "All your sessions ended",
    EventType.CREDENTIAL_CHANGE: "You changed how you sign in",
    EventType.IDENTIFIER_CHANGED: "Your email address changed",
    EventType.ACCOUNT_DISABLED: "Your account was closed",
    EventType.ACCOUNT_ENABLED: "Your account is open again",
    EventType.ACCOUNT_PURGED: "Your account was deleted",
    EventType.TOKENS_REVOKED: "You removed the app",
}


@receiver(exporting)
def export_events(sender: Any, account: Account, **kwargs: Any) -> dict[str, Any]:
    """Return the events about the person that were queued for apps, for the data export."""
    return {"events_to_apps": _events(account)}


def _events(account: Account) -> Iterator[dict[str, Any]]:
    rows = Delivery.objects.filter(connection__account=account).select_related("connection__client")
    for row in rows_of(rows):
        assert row.connection is not None
        yield {
            "app": row.connection.client.name,
            "event": row.event,
            "what": _EVENTS_TO_PEOPLE[EventType(row.event)],
            "at": moment(row.happened_at),
            "state": row.state,
            "delivered_at": moment(row.delivered_at),
        }


@receiver(exporting)
def export_projects(sender: Any, account: Account, **kwargs: Any) -> dict[str, Any]:
    """Return the person's current and former projects, and their invitations, for the data export."""
    rows = ProjectMember.objects.filter(account=account).select_related("project").order_by("pk")
    return {
        "projects": [
            {
                "project": row.project.name,
                "id": row.project.public_id,
                "role": row.role,
                "since": row.created_at.isoformat(),
                "deleted_at": row.project.deleted_at.isoformat() if row.project.deleted_at else None,
            }
            for row in rows
        ],
        "former_projects": [
            {"project": row.project.name, "until": row.left_at.isoformat()}
            for row in FormerMember.objects.filter(account=account).select_related("project").order_by("pk")
        ],
        "removed_projects": [
            {"since": row.joined_at.isoformat(), "until": row.left_at.isoformat()}
            for row in MemberOfRemovedProject.objects.filter(account=account).order_by("pk")
        ],
        "project_invitations": [
            {"project": row.project.name, "role": row.role, "expires_at": row.expires_at.isoformat()}
            for row in invitations_to_account(account)
        ],
    }


@receiver(naming_app)
def name_pending_app(sender: Any, request: HttpRequest, **kwargs: Any) -> dict[str, Any] | None:
    """Return the app that sent the newest pending request of the session, for mails sent during sign-in."""
    pending = pending_interactions(request.session)
    parameters = pending[-1].parameters if pending else None
    client = find_client(parameters.get("client_id")) if parameters else None
    if parameters is None or client is None:
        return None
    redirect_uri = parameters.get("redirect_uri") or ""
    return {"name": client.name, "verified": is_trusted_at(client, redirect_uri)}


@receiver(emptying_session)
def keep_pending(sender: Any, request: HttpRequest, **kwargs: Any) -> Callable[[SessionBase], None]:
    """Keep the pending requests of a session."""
    pending = take_pending(request.session)
    return lambda session: add_pending(session, pending)


@receiver(blocking_deletion)
def block_deletion_of_last_owner(sender: Any, account: Account, **kwargs: Any) -> list[Blocker]:
    """Block the deletion of an account that is the last active owner of a project. Deleted projects do not count.

    The projects of the account stay locked until the transaction that deletes it ends, so that another owner can't
    leave at the same time.
    """
    owner, own = ProjectMember.Role.OWNER, ProjectMember.objects.filter(account=account)
    live = own.filter(role=owner, project__deleted_at=None)
    with transaction.atomic():
        list(Project.objects.select_for_update(no_key=True).filter(pk__in=own.values("project")).order_by("pk"))
        others = ProjectMember.objects.filter(project=OuterRef("project"), role=owner, account__is_active=True)
        alone = list(live.exclude(Exists(others.exclude(account=account))).select_related("project").order_by("pk"))
    return [
        Blocker("last_owner", {"project": member.project.name}, project=member.project.public_id) for member in alone
    ]


@receiver(pre_delete, sender=Account)
def anonymize_connections(sender: Any, instance: Account, **kwargs: Any) -> None:
    """Revoke and anonymize the connections of an account before it is deleted. Projects keep counting the person."""
    with transaction.atomic():
        # Like those who delete an app or a project: these before their rows, whose foreign keys are checked at the end.
        connected = Connection.objects.filter(account=instance)
        hold_rows(Project, connected.values_list("client__project", flat=True))
        hold_rows(Client, connected.values_list("client", flat=True))
        tell_purged(instance)
        end_authorizations(sender, instance)
        keep_places_of_account(instance)
        # An app may have repeated the person's email address in its response. This locks the deliveries without one,
        # too, so that a response that arrives now is not stored (oidc/events/sending.py).
        Delivery.objects.filter(connection__account=instance).update(answer="")
        Connection.objects.filter(account=instance).update(
            scopes="", removed_scopes="", left_out="", scopes_outside_review=None, removed_at=clock.now()
        )
        ProjectInvitation.objects.filter(email__in=addresses_of(instance)).delete()
