"""Locking a client's row."""

from oidc.models import Client
from oidc.projects.locking import Gone


def lock_client(client_pk: int, *, for_deletion: bool = False, with_project: bool = False) -> Client:
    """Return a client with its row locked, and its project, as they are now. Raises Gone. Call it inside a transaction.

    A project's lock comes before (oidc/projects/roles.py). `for_deletion` locks the row against new references too;
    without it, rows that refer to the client are inserted meanwhile and do not wait. `with_project` locks the project
    first, by the same statement: PostgreSQL locks the tables of `FOR UPDATE OF` in the order in which they are named.
    """
    of = ("project", "self") if with_project else ("self",)
    rows = Client.objects.select_for_update(no_key=not for_deletion, of=of).select_related("project")
    row: Client | None = rows.filter(pk=client_pk).first()
    if row is None:
        raise Gone
    return row
