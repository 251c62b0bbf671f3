"""Statements that stay prepared on a connection, run through libpq (docs/architecture.md#prepared-queries).

For these short statements, a psycopg cursor inside one of Django's takes longer than the server: each time it looks for
placeholders, types, prepared statements and transactions. Here, that is done once, when the statement is created.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from psycopg import errors, generators
from psycopg.pq import ExecStatus

from core.database.postgres.connection import BoundedConnection

Value = str | int | datetime | None
Rows = list[tuple[Any, ...]]

_TEXT = bytes.decode
# How to read the server's text for each type, by the type's object id (pg_type.dat of PostgreSQL).
_READERS: dict[int, Callable[[bytes], Any]] = {
    16: b"t".__eq__,  # boolean
    20: int, 21: int, 23: int,  # bigint, smallint, integer
    25: _TEXT, 1043: _TEXT,  # text, character varying
    1184: lambda value: datetime.fromisoformat(value.decode()),  # timestamptz, in UTC as the connection is
}  # fmt: skip
_NAMED = re.compile(r"%\((\w+)\)s")
# SQLSTATEs of a statement that no longer exists (because of a pooler or DEALLOCATE), or whose table has changed.
_STALE = ("26000", "0A000")


class UnreadableType(TypeError):
    """A statement returns a column of a type that has no reader here."""


def _as_text(value: Value) -> bytes | None:
    """Return a value as libpq takes it. Raises psycopg.DataError for a NUL, which libpq would take for the end."""
    if value is None:
        return None
    text = value if isinstance(value, str) else value.isoformat() if isinstance(value, datetime) else str(value)
    if "\x00" in text:
        raise errors.DataError("PostgreSQL can't store NUL characters.")
    return text.encode()


class PreparedStatement:
    """A statement whose parameters are sent as text. One object serves all connections."""

    def __init__(self, sql: str) -> None:
        """Prepare the text of a statement.

        `sql` has psycopg's placeholders: only %s, or only %(name)s; %% is a percent sign. `names` are the names of the
        parameters, in the order in which they are passed.
        """
        self.names: tuple[str, ...] = tuple(dict.fromkeys(_NAMED.findall(sql)))
        numbers = {name: f"${number}" for number, name in enumerate(self.names, 1)}
        first, *others = _NAMED.sub(lambda found: numbers[found[1]], sql).split("%s")
        numbered = "".join([first, *(f"${number}{part}" for number, part in enumerate(others, 1))])
        self._sql = numbered.replace("%%", "%").encode()
        self.name = b"devportal_" + sha256(self._sql).hexdigest()[:16].encode()
        self._columns: list[tuple[int, Callable[[bytes], Any]]] = []  # types of the columns, with their readers

    def run(self, connection: BoundedConnection, values: Sequence[Value]) -> Rows:
        """Run the statement outside of a transaction, and return its rows. Raises psycopg.Error as a cursor does."""
        parameters = [_as_text(value) for value in values]
        with connection.lock:
            if self.name not in connection.statements:
                self._prepare(connection)
            try:
                return self._rows(connection, parameters)
            except errors.Error as error:
                if error.sqlstate not in _STALE:
                    raise
                self._prepare_again(connection)
                return self._rows(connection, parameters)

    def _rows(self, connection: BoundedConnection, parameters: Sequence[bytes | None]) -> Rows:
        server = connection.pgconn
        server.send_query_prepared(self.name, parameters)
        result = connection.wait(generators.execute(server))[-1]
        if result.status != ExecStatus.TUPLES_OK:
            raise errors.error_from_result(result)
        columns = self._columns or self._find_readers(result)
        value_at = result.get_value
        return [
            tuple([None if (value := value_at(row, column)) is None else read(value) for column, read in columns])
            for row in range(result.ntuples)
        ]

    def _find_readers(self, result: Any) -> list[tuple[int, Callable[[bytes], Any]]]:
        kinds = [result.ftype(column) for column in range(result.nfields)]
        if unknown := set(kinds) - _READERS.keys():
            raise UnreadableType(f"types {sorted(unknown)} of {self._sql.decode()}")
        self._columns = [(column, _READERS[kind]) for column, kind in enumerate(kinds)]
        return self._columns

    def _prepare(self, connection: BoundedConnection) -> None:
        server = connection.pgconn
        server.send_prepare(self.name, self._sql)
        result = connection.wait(generators.execute(server))[-1]
        if result.status != ExecStatus.COMMAND_OK:
            raise errors.error_from_result(result)
        connection.statements.add(self.name)

    def _prepare_again(self, connection: BoundedConnection) -> None:
        connection.statements.discard(self.name)
        self._columns = []
        server = connection.pgconn
        server.send_query_params(b"DEALLOCATE " + self.name, None)
        connection.wait(generators.execute(server))  # an error only means that it no longer exists
        self._prepare(connection)
