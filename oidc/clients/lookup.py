"""Find a client by its client id, lock its row, and report its changes to the audit trail."""

from typing import Any

from django.db.models import Exists, OuterRef

from accounts.models import Account
from core.database.prepared_queries import PreparedQuery, RowMapper
from oidc.models import Client, EventReceiver, Project
from oidc.projects.roles import Gone, report_project_event

MAX_CLIENT_ID_LENGTH = 255  # characters

_WHOLE: dict[str, Any] = {
    path: (model, tuple(field.attname for field in model._meta.concrete_fields))
    for path, model in (("", Client), ("project", Project))
}
_MAPPER = RowMapper(_WHOLE)
_BY_CLIENT_ID = PreparedQuery(
    ("client_id",),
    lambda client_id: (
        Client.objects.filter(client_id=client_id)
        .annotate(receives=Exists(EventReceiver.objects.exclude(url="").filter(client=OuterRef("pk"))))
        .values_list(*_MAPPER.paths, "receives")
    ),
)


def is_possible_client_id(client_id: str | None) -> bool:
    """Return whether this has the form of a client id. Anything else is never looked up."""
    return bool(client_id) and len(client_id or "") <= MAX_CLIENT_ID_LENGTH and "\x00" not in (client_id or "")


def find_client(client_id: str | None) -> Client | None:
    """Return the client with this id and its project, or None. A malformed id costs no query."""
    if client_id is None or not is_possible_client_id(client_id):
        return None
    rows = _BY_CLIENT_ID.rows(client_id)
    if not rows:
        return None
    client: Client = _MAPPER.build(rows[0])[""]
    client.has_receivers = bool(rows[0][-1])
    return client


def lock_client(client_pk: int, *, no_new_rows: bool = False, with_project: bool = False) -> Client:
    """Lock a client and return it with its project, as they are now. Call it inside a transaction.

    Lock the project before the client (oidc/projects/roles.py). `with_project` does so in the same statement:
    PostgreSQL locks the tables of `FOR UPDATE OF` in the order in which they are named. `no_new_rows` also prevents new
    rows that refer to the client. Raises Gone.
    """
    of = ("project", "self") if with_project else ("self",)
    rows = Client.objects.select_for_update(no_key=not no_new_rows, of=of).select_related("project")
    row: Client | None = rows.filter(pk=client_pk).first()
    if row is None:
        raise Gone
    return row


def report_client_event(action: str, client: Client, actor: Account | None, **fields: Any) -> None:
    """Report an audit event of a client; `fields` are those of Event."""
    report_project_event(action, client.project, actor, client.client_id, **fields)
