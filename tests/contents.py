"""All that the database holds, and what is written to it.

It is read without Django's models: building and reading those takes longer than a request.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.apps import apps
from django.db import connection

Rows = list[tuple[Any, ...]]
# Sessions may be written by looking at a page: a message that was shown, a request that waits.
_ASIDE = re.compile(r'"?(django_session|usersessions_usersession|accounts_session\w*)"?')
_WRITES = re.compile(r"\s*(?:WITH .*)?\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+(\S+)", re.IGNORECASE | re.DOTALL)


def contents(aside: frozenset[str] = frozenset()) -> dict[str, Rows]:
    """Return the rows of each table, in one order, as the database has them; without the tables of the models `aside`.

    Models are called by their labels (`oidc.Client`).
    """
    found = {}
    with connection.cursor() as cursor:
        for table, statement in _statements(connection.vendor, aside):
            cursor.execute(statement)
            found[table] = cursor.fetchall()
    return found


@cache
def columns(table: str, sign: str = "") -> str:
    """Return the names of a table's columns as a statement lists them, each with a sign before it."""
    model = next(model for model in apps.get_models(include_auto_created=True) if model._meta.db_table == table)
    return ", ".join(f'{sign}"{field.column}"' for field in model._meta.local_concrete_fields)


@cache
def _statements(vendor: str, aside: frozenset[str]) -> list[tuple[str, str]]:
    statements = []
    for model in apps.get_models(include_auto_created=True):
        if model._meta.managed and model._meta.label not in aside:
            table = model._meta.db_table
            # The sign keeps the module sqlite3 from making dates of texts: it changes no value.
            sign = "+" if vendor == "sqlite" else ""
            order = "rowid" if vendor == "sqlite" else f'"{model._meta.pk.column}"'
            statements.append((table, f'SELECT {columns(table, sign)} FROM "{table}" ORDER BY {order}'))
    return statements


@contextmanager
def writes() -> Iterator[list[str]]:
    """Collect the tables that statements write to, sessions apart."""
    written: list[str] = []

    def look(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        found = _WRITES.match(sql)
        if found and not _ASIDE.fullmatch(found[1]):
            written.append(found[1].strip('"'))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(look):
        yield written
