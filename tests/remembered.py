"""What a fixture wrote to the database, written again as it was: a fraction of what it takes to do it once more."""

import copy
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from django.db import connection

from tests.contents import Rows, columns, contents

Made = TypeVar("Made")
# Sessions, codes and what was proven just now grow old; a slow machine must not see them end.
SECONDS = 60
_known: dict[tuple[str, ...], tuple[float, Any, dict[str, Rows]]] = {}


def again(key: tuple[str, ...], make: Callable[[], Made]) -> Made:
    """Return what `make` returns, having written what it writes. Called once a minute.

    `key` names all that was made before it, since that is in the database as well: the fixtures of the test, in order.
    On PostgreSQL, where keys of rows are never used again, what `make` writes must not refer to that: the constraints
    that are checked after each test fail otherwise. Counters of limits are not part of it: a sign-in that is remembered
    is not counted.
    """
    known = _known.get(key)
    if known is None or time.monotonic() > known[0] + SECONDS:
        before = contents()
        made = make()
        written = _added(before, contents())
        if written is not None:
            _known[key] = time.monotonic(), copy.deepcopy(made), written
        return made
    _, made, written = known
    with connection.cursor() as cursor:
        for table, rows in written.items():
            marks = ", ".join(["%s"] * len(rows[0]))
            cursor.executemany(f'INSERT INTO "{table}" ({columns(table)}) VALUES ({marks})', rows)
    return cast("Made", copy.deepcopy(made))


def _added(before: dict[str, Rows], after: dict[str, Rows]) -> dict[str, Rows] | None:
    """Return the new rows of each table; None if a row was changed that was there before: the next test has another."""
    written = {}
    for table, rows in before.items():
        if any(row not in after[table] for row in rows):
            return None
        if added := [row for row in after[table] if row not in rows]:
            written[table] = added
    return written
