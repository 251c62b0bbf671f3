"""Read from the service's database: the tokens of an app, and the ids of its sessions."""

import contextlib
import sqlite3
from typing import Any

import psycopg

from tests.services.service import Service

ISSUED = (
    "SELECT count(*) FROM oidc_refreshtoken JOIN oidc_client ON oidc_client.id = oidc_refreshtoken.application_id"
    " WHERE oidc_client.client_id = {}"
)
SESSIONS = (
    "SELECT accounts_pairwisesubject.sub, oidc_family.sid FROM oidc_family"
    " JOIN oidc_connection ON oidc_connection.id = oidc_family.connection_id"
    " JOIN accounts_pairwisesubject ON accounts_pairwisesubject.id = oidc_connection.subject_id"
    " JOIN oidc_client ON oidc_client.id = oidc_connection.client_id"
    " WHERE oidc_client.client_id = {} ORDER BY oidc_family.id"
)


def count_refresh_tokens(service: Service, client_id: str) -> int:
    """Return how many refresh tokens were ever issued to a client: one for each sign-in and for each refresh."""
    ((count,),) = _rows(service, ISSUED, client_id)
    return int(count)


def latest_session(service: Service, client_id: str) -> tuple[str, str]:
    """Return `sub` and `sid` of the latest session of a client."""
    sub, sid = _rows(service, SESSIONS, client_id)[-1]
    return str(sub), str(sid)


def _rows(service: Service, query: str, client_id: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query with one parameter, a client id."""
    address = service.settings.get("DATABASE_URL")
    if address:
        with psycopg.connect(address) as postgres:
            return postgres.execute(query.format("%s").encode(), [client_id]).fetchall()
    file = next(service.home.glob("*.sqlite3"))
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as sqlite:
        return sqlite.execute(query.format("?"), [client_id]).fetchall()
