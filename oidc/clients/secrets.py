"""What is specific to client secrets (oidc/projects/credentials.py has the rest), and changing a client's type."""

from django.db import transaction
from django.db.models import F

from accounts.models import Account
from core import clock
from oidc.clients.lookup import lock_client, report_client_event
from oidc.models import Client, ClientSecret, Project, TokenFamily
from oidc.projects.credentials import CredentialKind, new_secret
from oidc.projects.lifecycle import QuotaExceeded
from oidc.signals import client_type_changed
from oidc.values.reasons import Reason

MAX_LIVE_SECRETS = 2


class _ClientSecrets(CredentialKind[ClientSecret]):
    model = ClientSecret
    name = "client_secret"
    revoked = "ended"
    related = ("client__project",)

    def lock(self, row: ClientSecret) -> Client:
        return lock_client(row.client_id)

    def create_like(self, old: ClientSecret, actor: Account | None) -> tuple[ClientSecret, str]:
        return _insert(old.client, actor)

    def belongs_to(self, row: ClientSecret) -> tuple[Project, Client, str]:
        return row.client.project, row.client, row.client.client_id


CLIENT_SECRETS = _ClientSecrets()


@transaction.atomic
def create_secret(client: Client, created_by: Account | None = None) -> tuple[ClientSecret, str]:
    """Create a secret for a web client; return its row and the raw secret, which is shown only once.

    Raises QuotaExceeded if two are live already, ValueError for a public client, Gone.
    """
    row, raw = _insert(lock_client(client.pk), created_by)
    CLIENT_SECRETS.report("created", row, created_by, after=CLIENT_SECRETS.shown(row))
    return row, raw


def _insert(client: Client, created_by: Account | None) -> tuple[ClientSecret, str]:
    """Create a secret of a locked client. Also end the expired secrets, so that requests no longer read them."""
    if not client.has_secret:
        raise ValueError("only web apps have secrets")
    client.secrets.filter(revoked_at=None, expires_at__lte=clock.now()).update(revoked_at=F("expires_at"))
    if client.secrets.filter(revoked_at=None).count() >= MAX_LIVE_SECRETS:
        raise QuotaExceeded("Two secrets are live, which is the maximum. Revoke one first.")
    return CLIENT_SECRETS.store(new_secret(), client=client, created_by=created_by)


def change_type(client: Client, kind: str, actor: Account | None = None) -> None:
    """Change a client's type, and revoke all its secrets and token families. Raises Gone.

    Requests that are issuing codes or tokens finish before the lock, so that theirs are revoked too.
    """
    moment = clock.now()
    with transaction.atomic():
        before, client.type = lock_client(client.pk, no_new_rows=True).type, kind
        if before == kind:
            return
        client.save(update_fields=["type", "client_type", "updated"])
        client.secrets.filter(revoked_at=None).update(revoked_at=moment)
        live = TokenFamily.objects.filter(connection__client=client, revoked_at=None)
        live.update(revoked_at=moment, revocation_reason=Reason.ENDED_CLIENT_TYPE_CHANGED)
        report_client_event("client.type_changed", client, actor, before={"type": before}, after={"type": kind})
        client_type_changed.send(sender=Client, client=client, before=before, actor=actor)
