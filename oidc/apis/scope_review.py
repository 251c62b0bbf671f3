"""Scopes that start to need an approval: what people granted stays, and reviewers check the apps that have the scopes.

An app keeps an approval that a reviewer or an operator gave. If it has only consents, it keeps the scope for these
people: `Client.kept_scopes` names it until a review decides on it, and no one else can be asked for it. Consents of the
project's own members don't count.
"""

from collections.abc import Collection, Iterable

from django.db.models import Exists, OuterRef, Q

from accounts.models import Account
from oidc.clients.lookup import report_client_event
from oidc.models import ApiScope, Client, Connection, Project, ProjectMember
from oidc.signals import scope_needs_review


class ScopesToReview:
    """The scopes of one change that became sensitive or start to need an approval."""

    def __init__(self) -> None:
        # The name of each scope, and whether it needed an approval before.
        self._scopes: dict[str, bool] = {}

    def note(self, scope: ApiScope, needed_approval: bool, was_sensitive: bool) -> None:
        """Note a changed scope, given how it was before."""
        if (scope.sensitive and not was_sensitive) or (scope.needs_approval and not needed_approval):
            self._scopes[scope.name] = needed_approval

    def begin(self, actor: Account | None) -> None:
        """Let the apps that have the scopes keep them, and send `scope_needs_review` for each scope.

        Runs in the transaction that changes the scopes. An app that people have granted a scope keeps it for them, but
        only if the scope needed no approval before: a withdrawn approval stays withdrawn.
        """
        if not self._scopes:
            return
        approved = {name: _clients_with_approval(name) for name in self._scopes}
        granted = {name: set() if needed else _clients_with_consent(name) for name, needed in self._scopes.items()}
        clients = _lock({pk for found in (*approved.values(), *granted.values()) for pk in found})
        for client in clients:
            _keep(client, [name for name in self._scopes if client.pk in granted[name]], actor)
        for name in self._scopes:
            having = [client for client in clients if client.pk in approved[name] | granted[name]]
            scope_needs_review.send(sender=ApiScope, scope=name, clients=having)


def _clients_with_consent(scope: str) -> set[int]:
    rows = Connection.objects.filter(removed_at=None, account__isnull=False, scopes__contains=scope)
    members = ProjectMember.objects.filter(project=OuterRef("client__project"), account=OuterRef("account"))
    found = rows.filter(Q(client__first_party=True) | ~Exists(members)).values_list("client_id", "scopes")
    return _having(scope, found.distinct().iterator())


def _clients_with_approval(scope: str) -> set[int]:
    rows = Client.objects.filter(approved_scopes__contains=scope).values_list("pk", "approved_scopes")
    return _having(scope, rows.iterator())


def _having(scope: str, rows: Iterable[tuple[int, str]]) -> set[int]:
    return {pk for pk, text in rows if scope in text.split()}


def _lock(clients: set[int]) -> list[Client]:
    """Lock the projects and then the clients, each by primary key (docs/architecture.md#locking)."""
    projects = Client.objects.filter(pk__in=clients).values_list("project_id", flat=True)
    list(Project.objects.select_for_update(no_key=True).filter(pk__in=set(projects)).order_by("pk"))
    rows = Client.objects.select_for_update(no_key=True, of=("self",)).select_related("project")
    return list(rows.filter(pk__in=clients).order_by("pk"))


def _keep(client: Client, scopes: list[str], actor: Account | None) -> None:
    before = client.approved_scopes
    new = [scope for scope in scopes if scope not in before.split()]
    if not new:
        return
    client.approved_scopes = " ".join([*before.split(), *new])
    if not client.first_party:  # no reviewer decides on the service's own apps
        client.kept_scopes = " ".join([*(scope for scope in client.kept_scopes.split() if scope not in new), *new])
    client.save(update_fields=["approved_scopes", "kept_scopes"])
    change = {"before": {"approved_scopes": before}, "after": {"approved_scopes": client.approved_scopes}}
    report_client_event("client.scopes_kept", client, actor, **change)


def kept_among(client: Client, scopes: Collection[str]) -> set[str]:
    """Return those of `scopes` that the app has only for people who granted them before they needed a review."""
    kept = set(client.kept_scopes.split()).intersection(scopes)
    if not kept or client.first_party:
        return set()
    # The registry of this process may not have the change yet.
    needing = ApiScope.objects.filter(Q(needs_approval=True) | Q(sensitive=True), name__in=kept)
    return set(needing.values_list("name", flat=True))
