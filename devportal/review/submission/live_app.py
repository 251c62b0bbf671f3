"""The present state of an app, and its changes since the last approval, for the pages of reviews and cases."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from devportal.console import activity
from devportal.review.models import AppReview
from devportal.review.rules.snapshots import LABELS, client_values, last_approved
from devportal.review.submission.differences import FieldChange, change_of, field_changes
from devportal.review.submission.requirements import domains_to_cover
from oidc.clients.domain_names import domains_of, hosts_of, is_loopback
from oidc.clients.reviewed_hosts import HostStanding, home_host, host_standing
from oidc.models import Client, Project, ProjectDomain, ProjectMember

MAX_OWNERS = 50
MAX_EVENTS = 50
MAX_APPS = 20
# The events of an app and of its project that can affect an approval.
_APP_EVENTS = ("client.created", "client.changed", "client.type_changed", "client.turned_on", "client.turned_off")
_PROJECT_EVENTS = ("project.", "member.", "domain.", "invitation.accepted")
# The fields of a snapshot that people see or are sent to. Justifications and the demo are for reviewers only.
_LIVE_FIELDS = tuple(field for field in LABELS if field not in ("scopes", "places", "demo_url"))


@dataclass(frozen=True)
class LiveURI:
    """A current redirect URL, and the proven domain of the project that it is on, or "".

    `standing` tells whether it counts as reviewed; None if that does not apply (docs/review.md#hosts).
    """

    uri: str
    domain: str
    is_loopback: bool
    standing: HostStanding | None


@dataclass(frozen=True)
class LiveDomain:
    """A domain of the project. `is_covered` tells whether the last approval covers it."""

    row: ProjectDomain
    is_covered: bool

    @property
    def state(self) -> str:
        """The state of the proof: not proven, proven, missing or lost."""
        if self.row.lost_at is not None:
            return "lost"
        if self.row.proven_at is None:
            return "not proven"
        return "proof missing" if self.row.missing_since is not None else "proven"


@dataclass(frozen=True)
class LiveApp:
    """The context of the partial `admin/review/partials/live_app.html`."""

    client: Client
    home_host: str
    redirect_uris: list[LiveURI]
    domains: list[LiveDomain]
    owners: list[ProjectMember]
    approval: AppReview | None
    approved_at: datetime | None
    changes: list[FieldChange]
    logo_changed: bool
    events: list[activity.ActivityEntry]
    more_events: bool


def live_app(client: Client, *, with_people: bool, known: Sequence[ProjectDomain] | None = None) -> LiveApp:
    """Return the present state of an app, in a fixed number of SQL statements.

    `known` are the domains of its project, if already read. `with_people` adds owners and events, which name people.
    Reviewers with a conflict of interest may see neither.
    """
    domains = domains_of(client.project) if known is None else known
    approval = last_approved(client) if client.is_verified else None
    since = (approval.decided_at if approval else None) or client.verified_at
    approved = set(client.approved_domains.split())
    changes = _changes(client, approval, domains) if client.is_verified and approval else []
    rows = _events(client, since) if with_people and since else []
    return LiveApp(
        client=client,
        home_host=home_host(client),
        redirect_uris=[_live_uri(client, uri, domains) for uri in client.registered_redirect_uris],
        domains=[LiveDomain(row, row.name in approved) for row in domains],
        owners=live_owners(client.project) if with_people else [],
        approval=approval,
        approved_at=since,
        changes=[change for change in changes if change.name != "logo"],
        logo_changed=any(change.name == "logo" for change in changes),
        events=activity.entries_for_reviewers(rows[:MAX_EVENTS], {client.client_id: client.name}),
        more_events=len(rows) > MAX_EVENTS,
    )


@dataclass(frozen=True)
class LiveProject:
    """The context of the partial `admin/review/partials/live_project.html`."""

    domains: list[LiveDomain]
    owners: list[ProjectMember]
    apps: list[Client]
    more_apps: bool
    events: list[activity.ActivityEntry]
    more_events: bool


def live_project(project: Project, *, with_people: bool) -> LiveProject:
    """Return the present state of a project with its latest events, in a fixed number of SQL statements."""
    apps = list(Client.objects.filter(project=project).order_by("-pk")[: MAX_APPS + 1])
    for app in apps:
        app.project = project
    rows = list(activity.events_of(project).filter(_project_events())[: MAX_EVENTS + 1]) if with_people else []
    return LiveProject(
        domains=[LiveDomain(row, is_covered=False) for row in domains_of(project)],
        owners=live_owners(project) if with_people else [],
        apps=apps[:MAX_APPS],
        more_apps=len(apps) > MAX_APPS,
        events=activity.entries_for_reviewers(rows[:MAX_EVENTS], {}),
        more_events=len(rows) > MAX_EVENTS,
    )


def live_owners(project: Project) -> list[ProjectMember]:
    """Return the owners of a project, in the order in which they became members."""
    owners = ProjectMember.objects.filter(project=project, role=ProjectMember.Role.OWNER)
    return list(owners.select_related("account").order_by("pk")[:MAX_OWNERS])


def _live_uri(client: Client, uri: str, domains: Sequence[ProjectDomain]) -> LiveURI:
    host = next(iter(hosts_of([uri])), "")
    covering = next((row.name for row in domains if host and row.is_proven and row.covers(host)), "")
    return LiveURI(uri, covering, is_loopback(host), host_standing(client, uri, domains))


def _changes(client: Client, approval: AppReview, domains: Sequence[ProjectDomain]) -> list[FieldChange]:
    """Return the fields in which the present app differs from the approved one.

    Domains that the project had already proven without using them in the app are left out.
    """
    kept, now, since = approval.snapshot, client_values(client), approval.decided_at
    found = field_changes({field: kept[field] for field in _LIVE_FIELDS}, {field: now[field] for field in _LIVE_FIELDS})
    covered = sorted(kept["domains"])
    used = {*covered, *domains_to_cover(kept, domains)}
    proven = [row.name for row in domains if row.is_proven and (row.name in used or _is_newer(row, since))]
    if covered != proven:
        found.append(change_of("domains", "Proven domains", covered, proven))
    return found


def _is_newer(domain: ProjectDomain, since: datetime | None) -> bool:
    return domain.proven_at is not None and since is not None and domain.proven_at > since


def _events(client: Client, since: datetime) -> list[Any]:
    """Return the events of the app and its project since a time, newest first, and one more than the page shows."""
    wanted = _project_events() | Q(action__in=_APP_EVENTS, target=client.client_id)
    return list(activity.events_of(client.project).filter(wanted, at__gt=since)[: MAX_EVENTS + 1])


def _project_events() -> Q:
    wanted = Q()
    for prefix in _PROJECT_EVENTS:
        wanted |= Q(action__startswith=prefix)
    return wanted
