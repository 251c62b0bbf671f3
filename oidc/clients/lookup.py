"""Finding a client by the client id that somebody sent."""

from typing import Any

from devportal.lib.prepared_queries import PreparedQuery, RowMapper
from oidc.models import Client, Project

MAX_CLIENT_ID_LENGTH = 255  # characters

_WHOLE: dict[str, Any] = {
    path: (model, tuple(field.attname for field in model._meta.concrete_fields))
    for path, model in (("", Client), ("project", Project))
}
_MAPPER = RowMapper(_WHOLE)
_BY_CLIENT_ID = PreparedQuery(
    ("client_id",), lambda client_id: Client.objects.filter(client_id=client_id).values_list(*_MAPPER.paths)
)


def is_possible_client_id(client_id: str | None) -> bool:
    """Return whether this has the form of a client id; anything else is never looked up."""
    return bool(client_id) and len(client_id or "") <= MAX_CLIENT_ID_LENGTH and "\x00" not in (client_id or "")


def find_client(client_id: str | None) -> Client | None:
    """Return the client with this id and its project, or None; no query for a malformed id."""
    if client_id is None or not is_possible_client_id(client_id):
        return None
    rows = _BY_CLIENT_ID.rows(client_id)
    client: Client | None = _MAPPER.build(rows[0])[""] if rows else None
    return client
