"""What the service's database says of an app's tokens: whether an app that says so has really refreshed."""

import contextlib
import sqlite3

import psycopg

from tests.services.service import Service

ISSUED = (
    "SELECT count(*) FROM oidc_refreshtoken JOIN oidc_client ON oidc_client.id = oidc_refreshtoken.application_id"
    " WHERE oidc_client.client_id = "
)


def count_refresh_tokens(service: Service, client_id: str) -> int:
    """Return how many refresh tokens a client was ever given: one with each sign-in, one with each refresh."""
    address = service.settings.get("DATABASE_URL")
    if address:
        with psycopg.connect(address) as postgres:
            row = postgres.execute(f"{ISSUED} %s".encode(), [client_id]).fetchone()
    else:
        file = next(service.home.glob("*.sqlite3"))
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as sqlite:
            row = sqlite.execute(f"{ISSUED} ?", [client_id]).fetchone()
    assert row is not None
    return int(row[0])
