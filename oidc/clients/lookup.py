"""Find a client by its client id, lock its row, and report its changes to the audit trail."""

from collections.abc import Iterable
from typing import Any

from django.db import connection
from django.db.models import BooleanField, Exists, Model, OuterRef, Q
from django.db.models.expressions import RawSQL

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


def hold_sql(account: str, client: str) -> str:
    """Return a condition for PostgreSQL; see `held_until_end`. The arguments are placeholders of primary keys."""
    tables = f'"{Account._meta.db_table}" AS person, "{Client._meta.db_table}" AS client'
    found = f"person.id = {account} AND client.id = {client}"
    # Tables are locked in the order in which they are named.
    return f"EXISTS (SELECT 1 FROM {tables} WHERE {found} FOR KEY SHARE OF person, client)"  # noqa: S608  (no values)


def held_until_end(account_pk: int, client_pk: int) -> RawSQL | Q:
    """Return a condition that a person and a client exist, which keeps both from being deleted in this transaction.

    Use it in the first statement that locks rows of theirs, if the transaction then adds rows that refer to them. At
    its end it would otherwise wait for a deletion, which may wait for the locked rows. On SQLite, transactions wait for
    each other.
    """
    if connection.vendor != "postgresql":
        return Q()
    return RawSQL(hold_sql("%s", "%s"), (account_pk, client_pk), output_field=BooleanField())  # noqa: S611  (as above)


def hold_rows(model: type[Model], keys: Iterable[int]) -> None:
    """Keep rows from being deleted until this transaction ends, in the order of their keys; see `held_until_end`."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            found = f'SELECT FROM "{model._meta.db_table}" WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE'
            cursor.execute(found, [list(keys)])


def report_client_event(action: str, client: Client, actor: Account | None, **fields: Any) -> None:
    """Report an audit event of a client; `fields` are those of Event."""
    report_project_event(action, client.project, actor, client.client_id, **fields)
