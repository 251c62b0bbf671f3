"""Empty a PostgreSQL database after a test that commits, in a fraction of the time that Django takes.

Django truncates all tables, for which PostgreSQL creates new files, and then sends `post_migrate`, whose receivers add
rows such as a signing key. That takes a quarter of a second of processor time, although most tests write only a few
rows.

Django does this after the first such test of a process, and the rows of that moment are stored. After each further
test, `restore` restores the tables whose rows have changed. The other tables stay as they are.
"""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import TransactionTestCase

# The rows of each table, as PostgreSQL's text form of a row.
Tables = dict[str, list[str]]


@contextlib.contextmanager
def fast() -> Iterator[None]:
    """Within the block, end transactional tests with `restore` once Django has flushed the database."""
    flush = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]
    flushed: Tables = {}

    def teardown(test: Any) -> None:
        if flushed:
            restore(flushed)
        else:
            flush(test)
            names = connection.introspection.django_table_names(only_existing=True, include_views=False)
            flushed.update(read(names))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", teardown)
        yield


def restore(tables: Tables) -> None:
    """Make these tables contain exactly the given rows."""
    with transaction.atomic(), connection.cursor() as cursor:
        # Like truncating, this waits for threads of the test that are still writing.
        cursor.execute(f"LOCK TABLE {', '.join(map(_quoted, tables))} IN SHARE ROW EXCLUSIVE MODE")
        found = read(tables)
        for table in (table for table in tables if found[table] != tables[table]):
            name = _quoted(table)
            cursor.execute(f"DELETE FROM {name}")
            if tables[table]:
                row = f"(spelled::{name}).*"
                cursor.execute(f"INSERT INTO {name} SELECT {row} FROM unnest(%s::text[]) spelled", [tables[table]])


def read(tables: Iterable[str]) -> Tables:
    """Return the rows of these tables, in one statement."""
    statements = (
        f"SELECT '{table}', array(SELECT held::text FROM {_quoted(table)} held ORDER BY 1)" for table in tables
    )
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(statements))
        return dict(cursor.fetchall())


def _quoted(table: str) -> str:
    return connection.ops.quote_name(table)
