"""Options of PostgreSQL entries in DATABASES, beyond the URL."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured

ENGINE = "core.database.postgres"
POOLINGS = ("none", "transaction")
# How the system detects a host or network that is gone: after 5 + 3 * 3 seconds on an idle connection, and after
# 10 seconds on one with data to send. Names and units are libpq's.
KEEPALIVES = {"keepalives_idle": 5, "keepalives_interval": 3, "keepalives_count": 3, "tcp_user_timeout": 10_000}


def configure(database: dict[str, Any], *, pooling: str, connect_seconds: int) -> None:
    """Complete an entry of DATABASES that came from a URL; options in the URL's query win. SQLite is not changed.

    `pooling` is "transaction" behind a pooler that assigns a server connection to each transaction, else "none".
    Raises ImproperlyConfigured for any other value.
    """
    if pooling not in POOLINGS:
        raise ImproperlyConfigured(f"DATABASE_POOLING is {pooling!r}. It must be one of: {', '.join(POOLINGS)}.")
    if not database["ENGINE"].endswith("postgresql"):
        return
    database["ENGINE"] = ENGINE
    # A connection lives as long as its slot (opening one takes 10 ms), and is checked before use.
    database["CONN_MAX_AGE"] = None
    database["CONN_HEALTH_CHECKS"] = True
    options = database.setdefault("OPTIONS", {})
    for name, value in {"connect_timeout": connect_seconds, **KEEPALIVES}.items():
        options.setdefault(name, value)
    # Parameters are sent separately from the statement, which the server prepares at its second use.
    options["server_side_binding"] = True
    if pooling == "transaction":
        # Server-side cursors and prepared statements would stay on a server connection that others use next.
        database["DISABLE_SERVER_SIDE_CURSORS"] = True
        database["POOLED"] = True
    else:
        options.setdefault("prepare_threshold", 2)
