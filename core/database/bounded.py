"""Statements with a time limit, for pages and metrics that can do without the result."""

import contextlib
from collections.abc import Iterator

from django.db import connection, transaction


@contextlib.contextmanager
def bounded_statements(milliseconds: int) -> Iterator[None]:
    """Limit each statement in this block to `milliseconds` (PostgreSQL); a longer one raises OperationalError.

    The limit ends with the transaction, so a pooler does not pass it on to others. SQLite has no such limit, and reads
    without a transaction here, since a transaction would take its write lock.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(milliseconds)])
        yield


@contextlib.contextmanager
def attempt() -> Iterator[None]:
    """Keep the transaction of `bounded_statements` usable when a statement in this block fails; the error is raised."""
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic():
        yield
