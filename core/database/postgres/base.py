"""The database backend: it stops waiting for a server that does not respond, and limits new attempts to connect."""

import time
from collections.abc import Sequence
from typing import Any

from django.db.backends.postgresql import base
from psycopg import IsolationLevel

from core.database.postgres import limits
from core.database.postgres.connection import BoundedConnection, Gate
from core.database.postgres.statements import PreparedStatement, Rows, Value
from core.telemetry import tracing

# A connection that was used within this time is used without a check. Django would run `SELECT 1` in every request. A
# request that gets a broken connection fails like any request without a database, and Django then opens a new one.
FRESH_SECONDS = 5.0
_gates: dict[str, Gate] = {}  # by alias: whether this process may connect to each server


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's, with the limits of the process or thread that connects (core/database/postgres/limits.py)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.limits = limits.current()
        self.patience = limits.Patience(self.limits)
        self.health_check_done: bool = False
        self.last_used = 0.0  # time.monotonic, at the end of a request

    def end_request(self) -> None:
        """Prepare the connection for the next request that gets it."""
        self.patience.renew()
        self.last_used = time.monotonic()

    def close_if_health_check_failed(self) -> None:
        if not self.health_check_done and time.monotonic() - self.last_used < FRESH_SECONDS:
            self.health_check_done = True
        super().close_if_health_check_failed()

    def connect(self) -> None:
        if limits.current() is not self.limits:  # the limits may have been set after this object was created
            self.limits = limits.current()
            self.patience = limits.Patience(self.limits)
        super().connect()

    def get_connection_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super().get_connection_params()
        params.setdefault("application_name", self.limits.name)
        # A pooler takes no session options; there, they are set on the role (docs/operations.md#pgbouncer).
        if not self.settings_dict.get("POOLED"):
            # Compiling a statement of many subqueries takes seconds, and running it milliseconds (docs/scaling.md).
            params["options"] = f"-c jit=off {self.limits.server_options()} {params.get('options', '')}".strip()
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> BoundedConnection:
        self.isolation_level = IsolationLevel.READ_COMMITTED  # locks in the code rely on it
        if self.limits.answer is None:
            return BoundedConnection.connect(**conn_params)
        gate = _gates.setdefault(self.alias, Gate())
        began = time.monotonic()
        try:
            with gate.attempt():
                connection = BoundedConnection.connect(**conn_params)
        finally:
            self.patience.spend(began)
        connection.patience, connection.gate = self.patience, gate
        return connection

    def new_statement(self, sql: str) -> PreparedStatement | None:
        """Return a statement for `fetch`; None behind a pooler, which may change the connection between statements."""
        return None if self.settings_dict.get("POOLED") else PreparedStatement(sql)

    def fetch(self, statement: PreparedStatement, values: Sequence[Value]) -> Rows | None:
        """Run a statement and return its rows.

        Return None if it has to go through a cursor: inside a transaction, which psycopg begins there, and when
        something observes the queries, such as tracing or tests that count statements.
        """
        if self.in_atomic_block or not self.autocommit or self.execute_wrappers or self.queries_logged:
            return None
        if tracing.is_on():
            return None
        self.close_if_health_check_failed()
        if self.connection is None:
            self.ensure_connection()
        with self.wrap_database_errors:
            return statement.run(self.connection, values)
