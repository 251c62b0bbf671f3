"""Client secrets: create, rotate and revoke them, and change the type of a client that has them."""

from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import F

from accounts.models import Account
from core import clock
from core.credentials import digest, random_text
from oidc.clients.lookup import lock_client, report_client_event
from oidc.credential_rotation import CredentialEnded, check_overlap, end_replaced
from oidc.models import Client, ClientSecret, TokenFamily
from oidc.reasons import Reason
from oidc.signals import client_type_changed

MAX_LIVE_SECRETS = 2
SECRET_LENGTH = 43  # 256 random bits


class TooManySecrets(Exception):
    """The client already has two live secrets. Revoke one first."""


def create_secret(client: Client, created_by: Account | None = None) -> tuple[ClientSecret, str]:
    """Create a secret for a web client; return its row and the raw secret, which is shown only once.

    Raises TooManySecrets if two are live already, ValueError for a public client, Gone.
    """
    with transaction.atomic():
        row, raw = _insert(lock_client(client.pk), created_by)
        report_client_event("client_secret.created", client, created_by, after={"last_four": row.last_four})
    return row, raw


def _insert(client: Client, created_by: Account | None) -> tuple[ClientSecret, str]:
    """Create a secret of a locked client. Also end the expired secrets, so that requests no longer read them."""
    if not client.has_secret:
        raise ValueError("only web apps have secrets")
    client.secrets.filter(ended_at=None, expires_at__lte=clock.now()).update(ended_at=F("expires_at"))
    if client.secrets.filter(ended_at=None).count() >= MAX_LIVE_SECRETS:
        raise TooManySecrets
    raw = f"{settings.CLIENT_SECRET_PREFIX}{random_text(SECRET_LENGTH)}"
    row = ClientSecret.objects.create(client=client, digest=digest(raw), last_four=raw[-4:], created_by=created_by)
    return row, raw


def rotate_secret(secret: ClientSecret, expires_at: datetime, actor: Account | None = None) -> tuple[ClientSecret, str]:
    """Create a secret that replaces `secret`; return the new row and the raw secret.

    The old secret is accepted until `expires_at`, or until its own expiry if that is sooner. If `expires_at` is not in
    the future, the old secret is revoked immediately. Raises CredentialEnded, TooManySecrets if three would be live,
    ValueError if `expires_at` is further ahead than MAX_OVERLAP, Gone.
    """
    with transaction.atomic():
        client = lock_client(secret.client_id)
        old = _live(client, secret)
        end = end_replaced(client.secrets.filter(pk=old.pk), old.expires_at, expires_at, "ended_at")
        row, raw = _insert(client, actor)
        before = {"last_four": old.last_four}
        after = {"last_four": row.last_four, "old_expires_at": end.isoformat()}
        report_client_event("client_secret.rotated", client, actor, before=before, after=after)
    return row, raw


def set_secret_expiry(secret: ClientSecret, expires_at: datetime | None, actor: Account | None = None) -> None:
    """Set when a live secret expires; None means never.

    Raises CredentialEnded, ValueError if `expires_at` is further ahead than MAX_OVERLAP, Gone.
    """
    with transaction.atomic():
        client = lock_client(secret.client_id)
        old = _live(client, secret)
        if expires_at is not None:
            check_overlap(expires_at)
        if old.expires_at == expires_at:
            return
        client.secrets.filter(pk=old.pk).update(expires_at=expires_at)
        before, after = (
            {"last_four": old.last_four, "expires_at": moment.isoformat() if moment else None}
            for moment in (old.expires_at, expires_at)
        )
        report_client_event("client_secret.expiry_changed", client, actor, before=before, after=after)


def _live(client: Client, secret: ClientSecret) -> ClientSecret:
    row: ClientSecret | None = client.secrets.live().filter(pk=secret.pk).first()
    if row is None:
        raise CredentialEnded
    return row


def end_secret(secret: ClientSecret, actor: Account | None = None) -> None:
    """Revoke a client secret: the next request with it is rejected. Idempotent."""
    with transaction.atomic():
        if ClientSecret.objects.filter(pk=secret.pk, ended_at=None).update(ended_at=clock.now()):
            report_client_event("client_secret.ended", secret.client, actor, before={"last_four": secret.last_four})


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
        client.secrets.filter(ended_at=None).update(ended_at=moment)
        live = TokenFamily.objects.filter(connection__client=client, revoked_at=None)
        live.update(revoked_at=moment, revocation_reason=Reason.ENDED_CLIENT_TYPE_CHANGED)
        report_client_event("client.type_changed", client, actor, before={"type": before}, after={"type": kind})
        client_type_changed.send(sender=Client, client=client, before=before, actor=actor)
