"""Reading logs and usage of some pages from a replica (docs/operations.md#read-replicas).

A page with the mark `page_from_replica` may read the models with the mark `table_from_replica` from the replica.
Everything else comes from the primary, including everything that decides permissions: the person, their session, and
their role in the project.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, models
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from core.marks import Mark

log = logging.getLogger(__name__)

page_from_replica = Mark("page_from_replica")
table_from_replica = Mark("table_from_replica")

ALIAS = "replica"
COOKIE = "openport_primary"
READS = ("GET", "HEAD")
LAG_CHECK_SECONDS = 5.0
# A replica that is connected and has replayed everything it received is up to date, however old the last write is.
_LAG = """
SELECT CASE
    WHEN NOT pg_is_in_recovery() THEN 0
    WHEN EXISTS (SELECT FROM pg_stat_wal_receiver WHERE pid IS NOT NULL)
        AND pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
    ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())
END
"""

_reading: ContextVar[bool] = ContextVar("reading_from_replica", default=False)


class ReplicaRouter:
    """Django's database router: within `reading`, `table_from_replica` models are read from the replica."""

    def db_for_read(self, model: type[models.Model], **hints: Any) -> str:
        return ALIAS if _reading.get() and table_from_replica.is_on(model) else DEFAULT_DB_ALIAS

    def db_for_write(self, model: type[models.Model], **hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: models.Model, other: models.Model, **hints: Any) -> bool:
        return True  # both databases have the same rows

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Read from the replica within this block."""
    token = _reading.set(True)
    try:
        yield
    finally:
        _reading.reset(token)


class Freshness:
    """Whether the replica responds and is at most REPLICA_MAX_LAG_SECONDS behind; the result is kept for a while."""

    def __init__(self) -> None:
        self._looked_at = float("-inf")
        self._is_fresh = False

    def is_fresh(self) -> bool:
        """Return whether pages may read from the replica now."""
        if time.monotonic() - self._looked_at > LAG_CHECK_SECONDS:
            self._looked_at = time.monotonic()  # other threads use the last result meanwhile
            was, self._is_fresh = self._is_fresh, self.look()
            if was != self._is_fresh:
                log.warning("Logs are read from the %s from now on.", "replica" if self._is_fresh else "primary")
        return self._is_fresh

    def lost(self) -> None:
        """Note that a page could not be read from the replica."""
        self._looked_at, self._is_fresh = time.monotonic(), False

    @staticmethod
    def look() -> bool:
        """Return whether the replica is fresh at this moment."""
        try:
            with connections[ALIAS].cursor() as cursor:
                cursor.execute(_LAG)
                (lag,) = cursor.fetchone()
        except DatabaseError:
            return False
        return lag is not None and float(lag) <= settings.REPLICA_MAX_LAG_SECONDS


freshness = Freshness()


class ReplicaMiddleware:
    """Serve pages with the mark `page_from_replica` from the replica, or from the primary if that fails.

    After a change, people read from the primary for REPLICA_MAX_LAG_SECONDS, so that they see their change. A cookie in
    their browser records that, and decides nothing else.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.method not in READS:
            response.set_cookie(
                COOKIE,
                "1",
                max_age=settings.REPLICA_MAX_LAG_SECONDS,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], arguments: Any, named: dict[str, Any]
    ) -> HttpResponseBase | None:
        """Return the page as read from the replica; None to use the primary."""
        if not page_from_replica.is_on(view) or request.method not in READS:
            return None
        if COOKIE in request.COOKIES or not freshness.is_fresh():
            return None
        try:
            with reading():
                response: HttpResponseBase = view(request, *arguments, **named)
                if hasattr(response, "render"):
                    response = response.render()
        except DatabaseError:  # nothing was written, so the page can be built again
            log.warning("The replica does not respond. Pages are read from the primary.")
            freshness.lost()
            return None
        return response
