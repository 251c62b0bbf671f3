"""Client secrets: creating and ending them, and changing the type of client that has them."""

from django.conf import settings
from django.db import transaction

from accounts.models import Account
from devportal.lib import clock
from devportal.lib.credentials import digest, random_text
from oidc.clients.audit import report_client_event
from oidc.clients.locking import lock_client
from oidc.models import Client, ClientSecret, TokenFamily

MAX_LIVE_SECRETS = 2
SECRET_LENGTH = 43  # 256 random bits


class TooManySecrets(Exception):
    """The client has two live secrets already; end one first."""


def create_secret(client: Client, created_by: Account | None = None) -> tuple[ClientSecret, str]:
    """Create a client secret for a web client; return its row and the raw secret, which is shown once.

    Raises TooManySecrets beyond two live ones, ValueError for a public client, Gone.
    """
    raw = f"{settings.CLIENT_SECRET_PREFIX}{random_text(SECRET_LENGTH)}"
    with transaction.atomic():
        if not lock_client(client.pk).has_secret:
            raise ValueError("only web apps have secrets")
        if client.secrets.filter(ended_at=None).count() >= MAX_LIVE_SECRETS:
            raise TooManySecrets
        row = ClientSecret.objects.create(client=client, digest=digest(raw), last_four=raw[-4:], created_by=created_by)
        report_client_event("client_secret.created", client, created_by, after={"last_four": row.last_four})
    return row, raw


def end_secret(secret: ClientSecret, actor: Account | None = None) -> None:
    """Revoke a client secret: the next request with it is refused. Idempotent."""
    with transaction.atomic():
        if ClientSecret.objects.filter(pk=secret.pk, ended_at=None).update(ended_at=clock.now()):
            report_client_event("client_secret.ended", secret.client, actor, before={"last_four": secret.last_four})


def change_type(client: Client, kind: str, actor: Account | None = None) -> None:
    """Change a client's type. Its secrets and all its families (authorizations) are revoked.

    Raises Gone.
    """
    moment = clock.now()
    with transaction.atomic():
        before, client.type = lock_client(client.pk).type, kind
        if before == kind:
            return
        client.save(update_fields=["type", "client_type", "updated"])
        client.secrets.filter(ended_at=None).update(ended_at=moment)
        live = TokenFamily.objects.filter(connection__client=client, revoked_at=None)
        live.update(revoked_at=moment, revoked_why="client type changed")
        report_client_event("client.type_changed", client, actor, before={"type": before}, after={"type": kind})
