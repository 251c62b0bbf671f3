"""A connection to PostgreSQL that gives up on a server which does not answer."""

import time
from typing import Any

import psycopg
from psycopg.errors import _WaitTimeout

from devportal.lib.postgres.gate import Gate
from devportal.lib.postgres.limits import Patience

WAKE_SECONDS = 0.1  # how often psycopg looks whether its time is over


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that waits for an answer as long as its patience lasts, and then ends.

    The server's own statement_timeout ends what runs too long. A server that is frozen, or cut off, does not run its
    clock, and its system goes on acknowledging what is sent: only whoever waits can tell.
    """

    patience: Patience | None = None
    gate: Gate | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.statements: set[bytes] = set()  # the names of those that the server has prepared (statements.py)

    def wait(self, gen: Any, interval: float = WAKE_SECONDS, timeout: float | None = None) -> Any:
        patience = self.patience
        if patience is None or patience.left is None:
            return super().wait(gen, interval=interval, timeout=timeout)
        began = time.monotonic()
        try:
            return super().wait(gen, interval=interval, timeout=timeout or patience.left)
        except _WaitTimeout:
            if self.gate:
                self.gate.close()
            self.close()
            raise psycopg.OperationalError("the database does not answer") from None
        finally:
            patience.spend(began)
