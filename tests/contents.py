"""Read the whole content of the database, and find out which tables are written to.

Rows are read without Django's models, because creating model instances takes longer than a request.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.apps import apps
from django.db import connection

Rows = list[tuple[Any, ...]]
# Opening a page may write to sessions: for example, it removes a message that was shown, or stores a pending request.
_ASIDE = re.compile(r'"?(django_session|usersessions_usersession|accounts_session\w*)"?')
_WRITES = re.compile(r"\s*(?:WITH .*)?\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+(\S+)", re.IGNORECASE | re.DOTALL)


def contents(aside: frozenset[str] = frozenset()) -> dict[str, Rows]:
    """Return the rows of each table as they are stored, always in the same order.

    The tables of the models in `aside` are left out. Models are named by their labels (`oidc.Client`).
    """
    found = {}
    with connection.cursor() as cursor:
        for table, statement in _statements(connection.vendor, aside):
            cursor.execute(statement)
            found[table] = cursor.fetchall()
    return found


@cache
def columns(table: str, sign: str = "") -> str:
    """Return the names of a table's columns for an SQL statement, each with `sign` before it."""
    model = next(model for model in apps.get_models(include_auto_created=True) if model._meta.db_table == table)
    return ", ".join(f'{sign}"{field.column}"' for field in model._meta.local_concrete_fields)


@cache
def _statements(vendor: str, aside: frozenset[str]) -> list[tuple[str, str]]:
    statements = []
    for model in apps.get_models(include_auto_created=True):
        if model._meta.managed and model._meta.label not in aside:
            table = model._meta.db_table
            # Without the sign, the module sqlite3 would convert some texts to dates. It does not change any value.
            sign = "+" if vendor == "sqlite" else ""
            order = "rowid" if vendor == "sqlite" else f'"{model._meta.pk.column}"'
            statements.append((table, f'SELECT {columns(table, sign)} FROM "{table}" ORDER BY {order}'))
    return statements


@contextmanager
def writes() -> Iterator[list[str]]:
    """Collect the names of the tables that statements write to, except those of sessions."""
    written: list[str] = []

    def look(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        found = _WRITES.match(sql)
        if found and not _ASIDE.fullmatch(found[1]):
            written.append(found[1].strip('"'))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(look):
        yield written
