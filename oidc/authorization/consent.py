"""Consent, stored per person and client (Connection). People are asked again only for new scopes, and can revoke it."""

from collections.abc import Collection
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, OuterRef, Subquery
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.activity.recording import record
from accounts.models import Account, PairwiseSubject
from accounts.profile.files import profile_read
from accounts.profile.subjects import subject_for
from core import clock
from oidc.apis import scopes as scope_rules
from oidc.apis.scope_review import kept_among
from oidc.authorization.user_cap import find_place, is_capped
from oidc.clients.lookup import lock_client, report_client_event
from oidc.clients.reviewed_hosts import outside_host, outside_hosts
from oidc.errors import ConsentMissing, UserCapExceeded
from oidc.events.causes import tell_removed
from oidc.models import Client, Connection, TokenFamily
from oidc.projects.holds import held_until_end
from oidc.projects.roles import Gone
from oidc.values.reasons import Reason


def find_connection(account: Account, client: Client) -> Connection | None:
    """Return the Connection of a person and a client, even if it was removed; None if there is none."""
    return Connection.objects.filter(account=account, client=client).first()


def count_connections(accounts: Collection[Account], client: Client) -> int:
    """Return how many of these accounts allow the app."""
    return Connection.objects.filter(account__in=accounts, client=client, removed_at=None).count()


def granted_scopes(connection: Connection | None, outside: str = "") -> set[str]:
    """Return the scopes that the person has granted and not revoked.

    `outside` is the host of a request that the app's review does not cover. There, only scopes that were granted at
    that very host count, because the consent page named it (docs/review.md#hosts).
    """
    if connection is None or connection.removed_at is not None:
        return set()
    granted = set(connection.scopes.split())
    return granted & set(_granted_outside(connection).get(outside, "").split()) if outside else granted


def _granted_outside(connection: Connection) -> dict[str, str]:
    """Return the scopes that were granted at hosts that the app's review does not cover, by host."""
    return connection.scopes_outside_review or {}


def left_out_scopes(connection: Connection | None) -> frozenset[str]:
    """Return the optional scopes that the person was asked for and left out."""
    return frozenset() if connection is None else frozenset(connection.left_out.split())


@transaction.atomic
def record_consent(
    account: Account,
    client: Client,
    scopes: list[str],
    request: HttpRequest | None = None,
    *,
    left_out: Collection[str] = frozenset(),
    redirect_uri: str = "",
) -> Connection:
    """Store the person's consent to `scopes`, in addition to earlier ones.

    `left_out` are the optional scopes that they left out of the same request: these are no longer granted, and
    remembered. `redirect_uri` is the request's, or "". If the app's review does not cover its host, the consent counts
    only for that host, and the user limit applies.

    The limit is exact even if many people arrive at once: consent to an app with a limit locks the project first.

    Raises UserCapExceeded, Gone; ConsentMissing for a scope that has just started to need a review.
    """
    outside = outside_host(client, redirect_uri) if redirect_uri else ""
    is_new = _is_newcomer(account, client, outside)
    reads_profile = not scope_rules.PICTURE_SCOPES.isdisjoint(scopes)
    connection, before = None, set[str]()
    # An existing connection already has a subject. It is only needed again if the photo may need a new URL.
    if is_new or (reads_profile and account.picture):
        subject = subject_for(account, client.project.public_id, reads_profile=reads_profile)
        connection = _connect(account, client, scopes, left_out, subject, outside) if is_new else None
    if connection is None:
        connection, before = _change(account, client, scopes, left_out, outside)
    if added := set(scopes) - before:
        if kept_among(client, added):  # since the checks, a scope has started to need a review
            raise ConsentMissing
        report_client_event("consent.given", client, account, details={"scopes": connection.scopes})
        _record_activity(account, client, added, request, is_more=bool(before))
    return connection


def _record_activity(
    account: Account, client: Client, added: Collection[str], request: HttpRequest | None, *, is_more: bool
) -> None:
    """Record that the person allowed the app more scopes, with the names of the APIs other than `/v1`."""
    kind = "app_allowed_more" if is_more else "app_allowed"
    apis = scope_rules.other_api_names(added)
    if apis:
        record(account, f"{kind}_at", request, app=client.name, apis=apis)
    else:
        record(account, kind, request, app=client.name)


def _is_newcomer(account: Account, client: Client, outside: str) -> bool:
    """Return whether the person has no connection yet. If so, the client is locked and its `kept_scopes` read again.

    Raises UserCapExceeded, Gone.
    """
    if not is_capped(client, outside):
        is_new = find_connection(account, client) is None
        if is_new:
            client.kept_scopes = lock_client(client.pk).kept_scopes
        return is_new
    client.kept_scopes = lock_client(client.pk, with_project=True).kept_scopes
    place = find_place(account, client)
    if place.is_full:
        raise UserCapExceeded
    return not place.is_known


def _connect(
    account: Account,
    client: Client,
    scopes: list[str],
    left_out: Collection[str],
    subject: PairwiseSubject,
    outside: str,
) -> Connection | None:
    """Store and return a new connection; None if it exists already, because the same form was sent twice."""
    connection = Connection(account=account, client=client, subject=subject)
    connection.scopes = scope_rules.format_scope(scopes)
    connection.left_out = scope_rules.format_scope(left_out)
    connection.scopes_outside_review = {outside: connection.scopes} if outside else None
    connection.joined_outside_review = bool(outside)
    connection.first_authorized_at = connection.last_authorized_at = clock.now()
    try:
        with transaction.atomic():
            connection.save(force_insert=True)
    except IntegrityError:
        return None
    connection.is_first_consent = True
    return connection


def _lock_connection(account: Account, client: Client) -> Connection | None:
    """Lock and return a connection, and keep its person and client from being deleted until the transaction ends.

    Also read the client's `kept_scopes` again.
    """
    kept = Client.objects.filter(pk=OuterRef("client")).values("kept_scopes")
    rows = Connection.objects.select_for_update(no_key=True).filter(held_until_end(account.pk, client.pk))
    found = rows.filter(account=account, client=client).annotate(kept_scopes=Subquery(kept)).first()
    if found is not None:
        client.kept_scopes = found.kept_scopes
    return found


def _change(
    account: Account, client: Client, scopes: list[str], left_out: Collection[str], outside: str
) -> tuple[Connection, set[str]]:
    """Lock a connection, add scopes and remove the ones that are left out; return it and the scopes granted before.

    `outside` is the request's host if the app's review does not cover it. The scopes granted before are then the
    ones that counted at that host. Raises Gone.
    """
    connection = _lock_connection(account, client)
    if connection is None:  # the app was deleted a moment ago
        raise Gone
    before, had = granted_scopes(connection), granted_scopes(connection, outside)
    at_hosts = _granted_outside(connection) if before else {}  # removing the consent removed these as well
    at_hosts = {host: scope_rules.format_scope(set(text.split()) - set(left_out)) for host, text in at_hosts.items()}
    if outside:
        at_hosts = {
            host: at_hosts[host] for host in outside_hosts(client) if host in at_hosts
        }  # drop hosts that are no longer registered
        at_hosts[outside] = scope_rules.format_scope((had | set(scopes)) - set(left_out))
    granted = (before | set(scopes)) - set(left_out)
    connection.scopes = scope_rules.format_scope(granted)
    connection.left_out = scope_rules.format_scope((left_out_scopes(connection) | set(left_out)) - granted)
    connection.scopes_outside_review = at_hosts or None
    connection.removed_at = None
    connection.authorized_before, connection.last_authorized_at = connection.last_authorized_at, clock.now()
    connection.save(update_fields=["scopes", "left_out", "scopes_outside_review", "removed_at", "last_authorized_at"])
    return connection, had


def ask_again(connection: Connection) -> None:
    """Forget which optional scopes were left out, so that the next sign-in asks for them. Grants nothing."""
    Connection.objects.filter(pk=connection.pk).update(left_out="")


def require_consent(account: Account, client: Client, scopes: list[str], redirect_uri: str = "") -> Connection:
    """Lock and return the connection if its consent covers `scopes` with this redirect URI. Raises ConsentMissing.

    Call it inside the transaction that issues the code, so that consent can't be removed at the same time.
    """
    connection = _lock_connection(account, client)
    outside = outside_host(client, redirect_uri) if redirect_uri else ""
    if connection is None or not set(scopes) <= granted_scopes(connection, outside):
        raise ConsentMissing
    connection.authorized_before, connection.last_authorized_at = connection.last_authorized_at, clock.now()
    connection.save(update_fields=["last_authorized_at"])
    return connection


@receiver(profile_read)
def app_reads_profile(sender: Any, account: Account, sector: str, **kwargs: Any) -> bool:
    """Return whether an enabled client of the project may read the person's profile."""
    usable = Client.objects.filter(project__public_id=sector, enabled=True)
    usable = usable.filter(project__suspended_at=None, project__deleted_at=None)
    live = Connection.objects.filter(account=account, client__in=usable, removed_at=None).select_related("client")
    return any(
        scope_rules.PICTURE_SCOPES & granted_scopes(row) & scope_rules.allowed_scopes(row.client) for row in live
    )


@transaction.atomic
def remove_consent(connection: Connection, request: HttpRequest | None = None) -> None:
    """Remove an app: revoke the person's consent, and every code and token that is based on it.

    Does nothing if another request has just removed it: what was granted is noted only once.
    """
    # First, like `require_consent`, which continues to lock families. A connection without a person is removed already.
    held = held_until_end(connection.account_id or 0, connection.client_id)
    rows = Connection.objects.select_for_update(no_key=True).filter(held, pk=connection.pk, removed_at=None)
    if not list(rows.values_list("pk")):
        return
    tell_removed(connection)
    moment = clock.now()
    Connection.objects.filter(pk=connection.pk).update(
        removed_scopes=F("scopes"), scopes="", left_out="", scopes_outside_review=None, removed_at=moment
    )
    live = TokenFamily.objects.filter(connection=connection, revoked_at=None)
    live.update(revoked_at=moment, revocation_reason=Reason.ENDED_ACCESS_REMOVED)
    report_client_event("consent.removed", connection.client, connection.account)
    if connection.account is not None:
        record(connection.account, "app_removed", request, app=connection.client.name)
