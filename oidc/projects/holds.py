"""Locks that keep people, clients and projects from being deleted until a transaction ends.

PostgreSQL takes them for every foreign key, but only when the transaction commits. It would then wait for a deletion
that may wait for rows of this transaction (docs/architecture.md#locking). On SQLite, transactions wait for each other.
"""

from collections.abc import Iterable

from django.db import connection
from django.db.models import BooleanField, Model, Q
from django.db.models.expressions import RawSQL

from accounts.models import Account
from oidc.models import Client


def hold_sql(account: str, client: str) -> str:
    """Return a condition for PostgreSQL; see `held_until_end`. The arguments are placeholders of primary keys."""
    tables = f'"{Account._meta.db_table}" AS person, "{Client._meta.db_table}" AS client'
    found = f"person.id = {account} AND client.id = {client}"
    # Tables are locked in the order in which they are named.
    return f"EXISTS (SELECT 1 FROM {tables} WHERE {found} FOR KEY SHARE OF person, client)"  # noqa: S608  (no values)


def held_until_end(account_pk: int, client_pk: int) -> RawSQL | Q:
    """Return a condition that a person and a client exist, which keeps both from being deleted in this transaction.

    Use it in the first statement that locks rows of theirs, if the transaction then adds rows that refer to them.
    """
    if connection.vendor != "postgresql":
        return Q()
    return RawSQL(hold_sql("%s", "%s"), (account_pk, client_pk), output_field=BooleanField())  # noqa: S611  (as above)


def hold_rows(model: type[Model], keys: Iterable[int]) -> None:
    """Keep rows from being deleted until this transaction ends, in the order of their primary keys."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            found = f'SELECT FROM "{model._meta.db_table}" WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE'
            cursor.execute(found, [list(keys)])
