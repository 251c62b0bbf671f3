"""Write the rows of a fixture again instead of running it again, which takes a fraction of the time."""

import copy
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from django.db import connection

from tests.contents import Rows, columns, contents

Made = TypeVar("Made")
# Rows are only used for this long, because sessions, codes and recent confirmations in them expire.
SECONDS = 60
_known: dict[tuple[str, ...], tuple[float, Any, dict[str, Rows]]] = {}


def again(key: tuple[str, ...], make: Callable[[], Made]) -> Made:
    """Return the result of `make`, and write the rows that it writes. `make` itself is called once a minute.

    `key` identifies all rows that the test's fixtures have written before, because `make` may depend on them: it has
    the names of these fixtures, in order. On PostgreSQL, primary keys are never used again, so the rows of `make` must
    not refer to these earlier rows: the constraints that are checked after each test would fail. The counters of limits
    are not restored, so a sign-in in `make` is not counted again.
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
    """Return the new rows of each table; None if an existing row was changed, because the next test has other rows."""
    written = {}
    for table, rows in before.items():
        if any(row not in after[table] for row in rows):
            return None
        if added := [row for row in after[table] if row not in rows]:
            written[table] = added
    return written
