"""What DATABASES says of a PostgreSQL, beyond its address."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured

ENGINE = "core.database.postgres"
POOLINGS = ("none", "transaction")
# The other machine, or the network between, is gone: the system says so after 5 + 3 * 3 seconds on a connection that
# rests, and after 10 seconds of one that has something to send. Names and units are libpq's.
KEEPALIVES = {"keepalives_idle": 5, "keepalives_interval": 3, "keepalives_count": 3, "tcp_user_timeout": 10_000}


def configure(database: dict[str, Any], *, pooling: str, connect_seconds: int) -> None:
    """Complete an entry of DATABASES that came from a URL; what its query says counts. Nothing is done for SQLite.

    `pooling`: "transaction" behind a pooler that gives a server connection to each transaction, else "none".
    Raises ImproperlyConfigured for any other.
    """
    if pooling not in POOLINGS:
        raise ImproperlyConfigured(f"DATABASE_POOLING is one of {', '.join(POOLINGS)}, not {pooling!r}.")
    if not database["ENGINE"].endswith("postgresql"):
        return
    database["ENGINE"] = ENGINE
    # A connection lives as long as its slot (10 ms to open one), and is checked before use.
    database["CONN_MAX_AGE"] = None
    database["CONN_HEALTH_CHECKS"] = True
    options = database.setdefault("OPTIONS", {})
    for name, value in {"connect_timeout": connect_seconds, **KEEPALIVES}.items():
        options.setdefault(name, value)
    # Parameters go to the server apart from the statement, which it prepares when it comes the second time.
    options["server_side_binding"] = True
    if pooling == "transaction":
        # Cursors and prepared statements would stay on a server connection that the next transaction has not.
        database["DISABLE_SERVER_SIDE_CURSORS"] = True
        database["POOLED"] = True
    else:
        options.setdefault("prepare_threshold", 2)
