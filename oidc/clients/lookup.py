"""Finding a client by the client id that somebody sent."""

from oidc.models import Client

MAX_CLIENT_ID_LENGTH = 255  # characters


def is_possible_client_id(client_id: str | None) -> bool:
    """Return whether this has the form of a client id; anything else is never looked up."""
    return bool(client_id) and len(client_id or "") <= MAX_CLIENT_ID_LENGTH and "\x00" not in (client_id or "")


def find_client(client_id: str | None) -> Client | None:
    """Return the client with this id and its project, or None; no query for a malformed id."""
    if not is_possible_client_id(client_id):
        return None
    return Client.objects.select_related("project").filter(client_id=client_id).first()
