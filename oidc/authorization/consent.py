"""Consent: stored per person and client (Connection), asked again only for new scopes, revocable at any time."""

from typing import Any

from django.db import IntegrityError, transaction
from django.dispatch import receiver

from accounts.models import Account
from accounts.pictures import profile_read
from accounts.subjects import subject_for
from devportal.lib import clock
from oidc import scopes as scope_rules
from oidc.authorization.user_cap import is_user_cap_reached
from oidc.clients.audit import report_client_event
from oidc.clients.locking import lock_client
from oidc.errors import ConsentMissing, UserCapExceeded
from oidc.models import Client, Connection, TokenFamily


def find_connection(account: Account, client: Client) -> Connection | None:
    """Return the Connection of a person and a client, also a removed one; None if there is none."""
    return Connection.objects.filter(account=account, client=client).first()


def granted_scopes(connection: Connection | None) -> set[str]:
    """Return the scopes that the person has granted and not revoked."""
    if connection is None or connection.removed_at is not None:
        return set()
    return set(connection.scopes.split())


@transaction.atomic
def record_consent(account: Account, client: Client, scopes: list[str]) -> Connection:
    """Store the person's consent to `scopes`, in addition to earlier ones. Raises UserCapExceeded, Gone.

    Exact when many arrive at once: whoever would add a person waits for the client's row first. `no_key`: the rows that
    others insert below this client and this connection check that they exist, and that must not wait for us.
    """
    connection = find_connection(account, client)
    if connection is None:
        lock_client(client.pk)
        if is_user_cap_reached(account, client):
            raise UserCapExceeded
    moment = clock.now()
    reads_profile = not scope_rules.PICTURE_SCOPES.isdisjoint(scopes)
    subject = subject_for(account, client.project.public_id, reads_profile=reads_profile)
    try:
        with transaction.atomic():
            connection, _ = Connection.objects.get_or_create(
                account=account,
                client=client,
                defaults={
                    "subject": subject,
                    "first_authorized_at": moment,
                    "last_authorized_at": moment,
                },
            )
    except IntegrityError:
        connection = Connection.objects.get(account=account, client=client)
    connection = Connection.objects.select_for_update(no_key=True).get(pk=connection.pk)
    before = granted_scopes(connection)
    connection.scopes = scope_rules.format_scope(before | set(scopes))
    connection.removed_at = None
    connection.last_authorized_at = moment
    connection.save(update_fields=["scopes", "removed_at", "last_authorized_at"])
    if set(scopes) - before:
        report_client_event("consent.given", client, account, details={"scopes": connection.scopes})
    return connection


def require_consent(account: Account, client: Client, scopes: list[str]) -> Connection:
    """Return the connection, locked, if its consent covers `scopes`. Raises ConsentMissing.

    Call it inside the transaction that issues the code, so that a concurrent removal comes before or after it.
    """
    connection = Connection.objects.select_for_update(no_key=True).filter(account=account, client=client).first()
    if connection is None or not set(scopes) <= granted_scopes(connection):
        raise ConsentMissing
    connection.last_authorized_at = clock.now()
    connection.save(update_fields=["last_authorized_at"])
    return connection


@receiver(profile_read)
def app_reads_profile(sender: Any, account: Account, sector: str, **kwargs: Any) -> bool:
    """Return whether an enabled client of the project may read the person's profile (receiver of `profile_read`)."""
    usable = Client.objects.filter(project__public_id=sector, enabled=True)
    usable = usable.filter(project__suspended_at=None, project__deleted_at=None)
    live = Connection.objects.filter(account=account, client__in=usable, removed_at=None).select_related("client")
    return any(
        scope_rules.PICTURE_SCOPES & granted_scopes(row) & scope_rules.allowed_scopes(row.client) for row in live
    )


@transaction.atomic
def remove_consent(connection: Connection) -> None:
    """Remove an app: revoke the person's consent with every code and token that is based on it."""
    moment = clock.now()
    Connection.objects.filter(pk=connection.pk).update(scopes="", removed_at=moment)
    live = TokenFamily.objects.filter(connection=connection, revoked_at=None)
    live.update(revoked_at=moment, revoked_why="access removed")
    report_client_event("consent.removed", connection.client, connection.account)
