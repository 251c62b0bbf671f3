"""Scopes that start to need an approval: apps that have such a scope keep it, and reviewers check these apps."""

from collections.abc import Iterable

from accounts.models import Account
from oidc.clients.lookup import report_client_event
from oidc.models import ApiScope, Client, Connection, Project
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

        Runs in the transaction that changes the scopes. An app that people have granted a scope gets the approval for
        it, but only if the scope needed none before: a withdrawn approval stays withdrawn.
        """
        if not self._scopes:
            return
        approved = {name: _clients_with_approval(name) for name in self._scopes}
        granted = {name: set() if needed else _clients_with_consent(name) for name, needed in self._scopes.items()}
        clients = _lock({pk for found in (*approved.values(), *granted.values()) for pk in found})
        for client in clients:
            _approve(client, [name for name in self._scopes if client.pk in granted[name]], actor)
        for name in self._scopes:
            having = [client for client in clients if client.pk in approved[name] | granted[name]]
            scope_needs_review.send(sender=ApiScope, scope=name, clients=having)


def _clients_with_consent(scope: str) -> set[int]:
    rows = Connection.objects.filter(removed_at=None, scopes__contains=scope).values_list("client_id", "scopes")
    return _having(scope, rows.distinct().iterator())


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


def _approve(client: Client, scopes: list[str], actor: Account | None) -> None:
    before = client.approved_scopes
    held = before.split()
    client.approved_scopes = " ".join([*held, *(scope for scope in scopes if scope not in held)])
    if client.approved_scopes != before:
        client.save(update_fields=["approved_scopes"])
        change = {"before": {"approved_scopes": before}, "after": {"approved_scopes": client.approved_scopes}}
        report_client_event("client.scopes_kept", client, actor, **change)
