"""Statements with an end of their own, for pages and metrics that can do without an answer."""

import contextlib
from collections.abc import Iterator

from django.db import connection, transaction


@contextlib.contextmanager
def bounded_statements(milliseconds: int) -> Iterator[None]:
    """Let each statement within take at most so long (PostgreSQL); a longer one raises OperationalError.

    The bound ends with the transaction, so that a pooler hands it to nobody else. SQLite has no such bound, and reads
    without a transaction here, since ours would take its write lock.
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
    """Keep the transaction of `bounded_statements` usable when a statement within fails; the error is raised."""
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic():
        yield
