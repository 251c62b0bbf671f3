"""The activity page of a project: its audit trail in sentences."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from api.models import ApiKey
from core.database.postgres.replica import page_from_replica
from core.messages import Piece, pieces
from devportal.console.access import Membership, get_membership
from devportal.console.export import MOST_ROWS, Columns, export, requested_format
from devportal.console.logs.filters import log_bar, parse_filters, text_filter, time_filters
from devportal.console.models import AuditEvent
from devportal.console.navigation import console_page, render_page
from devportal.console.pagination import paginate
from oidc.models import Client, Project, ProjectMember

# The trail does not include actions of the people who use the project's apps. Reviewers and operators appear without
# names. Only owners see the IP address of an action (docs/console.md#activity).

# The sentence of each action: {who} did it, and {target} is what it was about. Any other action is shown by its name.
SENTENCES: Mapping[str, str] = {
    "project.created": "{who} created the project",
    "project.renamed": "{who} renamed the project",
    "project.deleted": "{who} deleted the project",
    "project.restored": "{who} restored the project",
    "project.transferred": "{who} transferred the project to {target}",
    "project.suspended": "{who} suspended the project",
    "project.suspension_lifted": "{who} lifted the suspension of the project",
    "member.role_changed": "{who} changed the role of {target}",
    "member.removed": "{who} removed {target} from the project",
    "member.left": "{who} left the project",
    "invitation.sent": "{who} invited {target}",
    "invitation.withdrawn": "{who} withdrew the invitation of {target}",
    "invitation.ended": "{who} ended the invitation of {target}, because the person who sent it may no longer invite",
    "invitation.accepted": "{who} accepted the invitation",
    "invitation.declined": "{who} declined the invitation",
    "client.created": "{who} created the app {target}",
    "client.changed": "{who} changed the app {target}",
    "client.type_changed": "{who} changed the type of the app {target}",
    "client.turned_on": "{who} turned the app {target} on",
    "client.turned_off": "{who} turned the app {target} off",
    "client.scopes_kept": "{who} let {target} keep scopes that need an approval now",
    "client.deleted": "{who} deleted the app {target}",
    "client.events_changed": "{who} changed where {target} receives events",
    "client.events_paused": "{who} paused the events to {target}, because they kept failing",
    "client.events_resumed": "{who} resumed the events to {target}",
    "client.events_sent_again": "{who} sent events to {target} again",
    "client.events_tested": "{who} sent a test event to {target}",
    "client.page_published": "{who} published the public page of {target}",
    "client.page_moved": "{who} moved the public page of {target}",
    "client.page_taken_down": "{who} took the public page of {target} down",
    "client_secret.created": "{who} created a secret of {target}",
    "client_secret.rotated": "{who} rotated a secret of {target}",
    "client_secret.expiry_changed": "{who} changed when a secret of {target} expires",
    "client_secret.ended": "{who} revoked a secret of {target}",
    "client_secret.leaked_revoked": "{who} revoked a secret of {target}, because it was reported as leaked",
    "client_secret.leaked_flagged": "{who} flagged a secret of {target}, because it was reported as leaked",
    "client_secret.leaked_ended": "{who} got a report that a secret of {target} leaked, which had already ended",
    "api_key.created": "{who} created the API key {target}",
    "api_key.rotated": "{who} rotated the API key {target}",
    "api_key.changed": "{who} changed the API key {target}",
    "api_key.expiry_changed": "{who} changed when the API key {target} expires",
    "api_key.revoked": "{who} revoked the API key {target}",
    "api_key.leaked_revoked": "{who} revoked the API key {target}, because it was reported as leaked",
    "api_key.leaked_flagged": "{who} flagged the API key {target}, because it was reported as leaked",
    "api_key.leaked_ended": "{who} got a report that the API key {target} leaked, which had already ended",
    "domain.added": "{who} added the domain {target}",
    "domain.proven": "{who} found the proof of the domain {target}",
    "domain.missing": "{who} no longer found the proof of the domain {target}",
    "domain.lost": "{who} stopped counting the domain {target} as proven",
    "domain.removed": "{who} removed the domain {target}",
    "review.edited": "{who} edited the review of {target}",
    "review.test_account_stored": "{who} stored a test account for the reviewers of {target}",
    "review.test_account_removed": "{who} removed the test account of {target}",
    "review.test_account_seen": "{who} opened the test account of {target}",
    "review.submitted": "{who} submitted {target} for review",
    "review.resubmitted": "{who} resubmitted {target} for review",
    "review.withdrawn": "{who} withdrew {target} from review",
    "review.comment": "{who} wrote about the review of {target}",
    "review.assigned": "{who} took the review of {target}",
    "review.started": "{who} began to review {target}",
    "review.changes_requested": "{who} requested changes of {target}",
    "review.approved": "{who} approved {target}",
    "review.rejected": "{who} rejected {target}",
    "review.appealed": "{who} appealed about {target}",
    "review.renewed": "{who} checked {target} again and found everything in order",
    "review.approval_withdrawn": "{who} withdrew the approval of {target}",
}

# Events that only reviewers and operators may read.
REVIEWERS_ONLY = Q(action="review.first_approval") | Q(action__startswith="review_case.")
_BY_REVIEWERS = Q(details__side="reviewer")
# Events with values that developers have not submitted yet. Reviewers may not read them.
DRAFTS = Q(action="review.edited")

# Filters of the page: query parameter, label and prefixes of the actions.
CATEGORIES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("project", "The project", ("project.",)),
    ("members", "Members and invitations", ("member.", "invitation.")),
    ("clients", "Apps and secrets", ("client.", "client_secret.")),
    ("keys", "API keys", ("api_key.",)),
    ("domains", "Domains", ("domain.",)),
    ("review", "Review", ("review.",)),
)
_LABELS = {
    "post_logout_redirect_uris": "Sign-out URLs",
    "redirect_uris": "Redirect URLs",
    "enabled": "Turned on",
    "least_acr": "Required sign-in",
    "forgive_lost_responses": "Lost responses are forgiven",
    "hosts_in_review": "Counts as reviewed at",
    "hosts_outside_review": "Hosts outside of the review",
}


@dataclass(frozen=True)
class Change:
    """One changed field; None for a value that did not exist."""

    label: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class ActivityEntry:
    """One audit event as the page shows it."""

    at: datetime
    sentence: list[Piece]
    changes: list[Change]
    ip: str
    request_id: str


def events_of(project: Project) -> "QuerySet[AuditEvent]":
    """Return the audit events of a project, newest first, without the ones that only reviewers may read."""
    return AuditEvent.objects.filter(~REVIEWERS_ONLY, project=project.public_id).order_by("-pk")


def filter_by_category(rows: "QuerySet[AuditEvent]", kind: str) -> "QuerySet[AuditEvent]":
    """Filter by one of CATEGORIES. Any other value is ignored."""
    for name, _, prefixes in CATEGORIES:
        if name == kind:
            wanted = Q()
            for prefix in prefixes:
                wanted |= Q(action__startswith=prefix)
            return rows.filter(wanted)
    return rows


def filter_by_person(
    rows: "QuerySet[AuditEvent]", who: str, members: Iterable[ProjectMember]
) -> "QuerySet[AuditEvent]":
    """Filter by a member's primary key, or by "others". Any other value is ignored."""
    accounts = {str(member.pk): member.account_id for member in members}
    if who == "others":
        return rows.filter(~Q(actor__in=accounts.values()) | Q(actor=None) | _BY_REVIEWERS)
    # What someone did as a reviewer, before they became a member, must not be found by their name.
    own = Q(details__side__isnull=True) | ~_BY_REVIEWERS
    return rows.filter(own, actor=accounts[who]) if who in accounts else rows


def activity_entries(membership: Membership, events: Iterable[AuditEvent]) -> list[ActivityEntry]:
    """Return audit events as this member may read them. Takes two SQL statements, for people and names."""
    rows = list(events)
    names, insiders = _names(membership.project, rows), _insiders(membership.project, rows)
    return [_line(membership, row, names, insiders) for row in rows]


def entries_for_reviewers(events: Iterable[AuditEvent], names: dict[str, str]) -> list[ActivityEntry]:
    """Return audit events as reviewers read them, with actors but without IP addresses. `names` are by client id."""
    return [ActivityEntry(row.at, _sentence(row, names, by_service=False), _changes(row), "", "") for row in events]


def _line(membership: Membership, row: AuditEvent, names: dict[str, str], insiders: set[int]) -> ActivityEntry:
    by_service = _is_by_service(row, insiders)
    return ActivityEntry(
        at=row.at,
        sentence=_sentence(row, names, by_service),
        changes=_changes(row),
        ip=(row.ip or "") if membership.is_owner and not by_service else "",
        request_id="" if by_service else row.request_id,
    )


def _insiders(project: Project, rows: Iterable[AuditEvent]) -> set[int]:
    """Return the primary keys of actors who are or were members. All other actors are reviewers or operators."""
    actors = {row.actor_id for row in rows if row.actor_id}
    if not actors:
        return set()
    members = ProjectMember.objects.filter(project=project, account__in=actors).values_list("account_id")
    came = events_of(project).filter(actor__in=actors, action__in=("project.created", "invitation.accepted"))
    went = events_of(project).filter(person__in=actors, action__in=("member.left", "member.removed"))
    found = members.union(came.order_by().values_list("actor_id"), went.order_by().values_list("person_id"))
    return {account for (account,) in found}


def _is_by_service(row: AuditEvent, insiders: set[int]) -> bool:
    """Return whether a reviewer or an operator acted, whose name is not shown."""
    if "side" in row.details:
        return bool(row.details["side"] == "reviewer")
    return row.actor_id is not None and row.actor_id not in insiders


def _who(row: AuditEvent, by_service: bool) -> str:
    if by_service:
        return f"A reviewer of {settings.SERVICE_NAME}" if row.action.startswith("review.") else settings.SERVICE_NAME
    if row.actor_email:
        return row.actor_email
    # `actor_email` is emptied when the account is deleted. Without an actor the service itself acted.
    return "Someone whose account is deleted" if row.request_id or row.actor_id else settings.SERVICE_NAME


def _sentence(row: AuditEvent, names: dict[str, str], by_service: bool) -> list[Piece]:
    who = _who(row, by_service)
    if row.action not in SENTENCES:
        return pieces("{who} {action} {target}", {"who": who, "action": row.action, "target": row.target})
    target = names.get(row.target) or row.target or _former_name(row) or "something that is deleted"
    if row.action.split(".")[0] in ("member", "invitation", "project") and not row.target:
        target = "someone whose account is deleted"
    return pieces(SENTENCES[row.action], {"who": who, "target": target})


def _former_name(row: AuditEvent) -> str:
    return str(row.before.get("name") or row.after.get("name") or "")


def _names(project: Project, rows: Iterable[AuditEvent]) -> dict[str, str]:
    """Return the names of target clients and API keys by public id. The events hold the names of deleted ones."""
    names: dict[str, str] = {}
    clients, keys = set(), set()
    for row in rows:
        if row.action.startswith(("client", "review.")):
            clients.add(row.target)
        elif row.action.startswith("api_key."):
            keys.add(row.target)
        if former := _former_name(row):
            names.setdefault(row.target, former)
    if clients or keys:
        named_clients = Client.objects.filter(project=project, client_id__in=clients).values_list("client_id", "name")
        named_keys = ApiKey.objects.filter(project=project, public_id__in=keys).values_list("public_id", "name")
        names |= dict(named_clients.union(named_keys))
    return names


def _changes(row: AuditEvent) -> list[Change]:
    fields = [*row.before, *(name for name in row.after if name not in row.before)]
    return [Change(_label(name), _text(row.before.get(name)), _text(row.after.get(name))) for name in fields]


def _label(name: str) -> str:
    return _LABELS.get(name, name.replace("_", " ").capitalize())


def _text(value: Any) -> str | None:
    """Format a stored value for people; None for a value that did not exist."""
    if value is None or value in ("", [], {}):
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "\n".join(str(each) for each in value)
    if isinstance(value, dict):
        return "\n".join(f"{name}: {each}" for name, each in value.items())
    return str(value)


_FILTERS: dict[str, Callable[[str], Q]] = {
    # Not the actor: reviewers appear without names.
    "q": text_filter("action", "target"),
    # `filter_by_category` and `filter_by_person` apply these.
    "kind": lambda _: Q(),
    "by": lambda _: Q(),
    **time_filters("at"),
}
_COLUMNS: Columns[tuple[AuditEvent, ActivityEntry]] = {
    "time_utc": lambda row: row[0].at,
    "action": lambda row: row[0].action,
    "description": lambda row: "".join(piece.text for piece in row[1].sentence),
    "target": lambda row: row[0].target,
    "before": lambda row: row[0].before,
    "after": lambda row: row[0].after,
    "ip_address": lambda row: row[1].ip,
    "request_id": lambda row: row[1].request_id,
}
_AT_ONCE = 500


def _exported(membership: Membership, rows: "QuerySet[AuditEvent]") -> Iterator[tuple[AuditEvent, ActivityEntry]]:
    """Yield the events with what the member may read of them."""
    found = rows[:MOST_ROWS].iterator(chunk_size=_AT_ONCE)
    while events := list(islice(found, _AT_ONCE)):
        yield from zip(events, activity_entries(membership, events), strict=True)


@page_from_replica
@console_page()
def activity(request: HttpRequest, project_id: str) -> HttpResponseBase:
    """GET …/team/activity?kind=…&by=…&q=…&range=…: who did what, newest first. `?format=csv` downloads it."""
    membership = get_membership(request, project_id)
    members = list(ProjectMember.objects.filter(project=membership.project).select_related("account").order_by("pk"))
    filters = parse_filters(request, _FILTERS)
    rows = filter_by_category(events_of(membership.project), filters.given["kind"])
    rows = filter_by_person(rows, filters.given["by"], members).filter(filters.where)
    if file_format := requested_format(request):
        return export(f"activity-{project_id}", file_format, _COLUMNS, _exported(membership, rows))
    page = paginate(rows, request)
    people = {str(member.pk): member.account.email for member in members}
    selects = (
        ("kind", "Action", {name: label for name, label, _ in CATEGORIES}),
        ("by", "Person", people | {"others": f"Others, and {settings.SERVICE_NAME}"}),
    )
    return render_page(
        request,
        "console/activity.html",
        membership,
        page=page,
        lines=activity_entries(membership, page.rows),
        filters=filters,
        bar=log_bar(filters, selects, "All time"),
        query=filters.query(),
    )
