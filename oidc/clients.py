"""Clients: finding them, authenticating them, giving them secrets."""

import base64
import binascii
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import unquote_plus

from django.conf import settings
from django.db import transaction

from accounts.models import Account
from devportal.lib import clock
from devportal.lib.audit import Event, report
from devportal.lib.credentials import digest, matches, random_text
from oidc.errors import InvalidClient, TwoMethods
from oidc.models import Client, ClientSecret, Family
from oidc.presented import Presented, is_possible, look_up, look_up_by_refresh_token
from oidc.roles import Gone

MAX_LIVE_SECRETS = 2
SECRET_LENGTH = 43  # 256 random bits
LAST_USED_EVERY = timedelta(hours=1)
# What a secret is compared with when there is none: unknown clients take as long as known ones.
_NO_DIGEST = digest(random_text(SECRET_LENGTH))


class TooManySecrets(Exception):
    """The client has two live secrets already; end one first."""


def find_client(client_id: str | None) -> Client | None:
    """Return the client with this id, its project loaded, or None; an impossible id asks no database."""
    if not is_possible(client_id):
        return None
    return Client.objects.select_related("project").filter(client_id=client_id).first()


def create_secret(client: Client, created_by: Account | None = None) -> tuple[ClientSecret, str]:
    """Return a fresh secret of a web client: its row, and the raw value, which is shown once.

    Raises TooManySecrets beyond two live ones, ValueError for a client that has none by its type, Gone.
    """
    raw = f"{settings.CLIENT_SECRET_PREFIX}{random_text(SECRET_LENGTH)}"
    with transaction.atomic():
        if not _locked(client).has_secret:
            raise ValueError("only web apps have secrets")
        if client.secrets.filter(ended_at=None).count() >= MAX_LIVE_SECRETS:
            raise TooManySecrets
        row = ClientSecret.objects.create(client=client, digest=digest(raw), last_four=raw[-4:], created_by=created_by)
        _report("client_secret.created", client, created_by, after={"last_four": row.last_four})
    return row, raw


def end_secret(secret: ClientSecret, actor: Account | None = None) -> None:
    """End a secret: the next request that shows it is refused. One that has ended already stays as it is."""
    with transaction.atomic():
        if ClientSecret.objects.filter(pk=secret.pk, ended_at=None).update(ended_at=clock.now()):
            _report("client_secret.ended", secret.client, actor, before={"last_four": secret.last_four})


def _locked(client: Client) -> Client:
    """Return a client as it is now, with its row locked. Raises Gone."""
    row = Client.objects.select_for_update(no_key=True).filter(pk=client.pk).first()
    if row is None:
        raise Gone
    return row


def _report(action: str, client: Client, actor: Account | None, **fields: Any) -> None:
    report(Event(action, actor.pk if actor else None, client.project.public_id, client.client_id, **fields))


def parse_basic(header: str) -> tuple[str, str]:
    """Return client id and secret of a Basic header, form-decoded (RFC 6749 §2.3.1). Raises InvalidClient."""
    scheme, _, encoded = header.strip().partition(" ")
    if scheme.lower() != "basic":
        raise InvalidClient("not Basic")
    try:
        client_id, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
        if not colon:
            raise InvalidClient("Basic without a colon")
        pair = unquote_plus(client_id, errors="strict"), unquote_plus(secret, errors="strict")
    except (binascii.Error, ValueError) as error:
        raise InvalidClient("Basic that can't be decoded") from error
    if any("\x00" in text for text in pair):
        raise InvalidClient("Basic with a NUL")
    return pair


def authenticate(
    header: str | None,
    client_id: str | None,
    secret: str | None,
    *,
    code: str | None = None,
    refresh_token: str | None = None,
    secret_optional: bool = False,
) -> Presented:
    """Return the client that a request to the token or revocation endpoint comes from, and what it shows.

    `header` is the Authorization header, the rest are form fields. One method a request (RFC 6749 §2.3): raises
    TwoMethods for two, InvalidClient for none, a wrong one, or a secret of a client without. With `secret_optional`
    a web client may leave its secret out, but not send a wrong one. A refresh token that comes alone names its
    client (RFC 6749 §6 asks no id of one without a secret).
    """
    if header is not None:
        basic_id, basic_secret = parse_basic(header)
        if secret:
            raise TwoMethods
        if client_id and client_id != basic_id:
            raise InvalidClient("two client ids")
        client_id, secret = basic_id, basic_secret
    if refresh_token is not None and header is None and not client_id and not secret:
        presented = look_up_by_refresh_token(refresh_token)
    else:
        presented = look_up(client_id, code=code, refresh_token=refresh_token)
    return replace(presented, proven=_check_secret(presented, secret, secret_optional))


def _check_secret(presented: Presented, secret: str | None, secret_optional: bool) -> bool:
    """Check what a client sent as its secret, and tell whether it proves the client. Raises InvalidClient.

    Known and unknown clients do the same work: one statement, and at least one comparison.
    """
    matching = [row for row in presented.secrets if matches(secret or "", row.digest)]
    if not presented.secrets:
        matches(secret or "", _NO_DIGEST)
    if presented.client is None:
        raise InvalidClient("unknown client")
    claimed = presented.client.client_id
    if presented.client.has_secret and not matching and (secret or not secret_optional):
        raise InvalidClient("The client secret is wrong." if secret else "The client secret is missing.", claimed)
    if not presented.client.has_secret and secret:
        raise InvalidClient("A secret was sent, and clients of this type have none.", claimed)
    for row in matching:
        _note_use(row)
    return bool(matching)


def _note_use(row: ClientSecret) -> None:
    # At most once an hour: it is for the console, and a write a request would cost more than the rest.
    moment = clock.now()
    if row.last_used_at is None or row.last_used_at < moment - LAST_USED_EVERY:
        ClientSecret.objects.filter(pk=row.pk).update(last_used_at=moment)


def change_type(client: Client, kind: str, actor: Account | None = None) -> None:
    """Make `client` another type; what it had as the old type ends: its secrets, and every authorization.

    Raises Gone.
    """
    moment = clock.now()
    with transaction.atomic():
        before, client.type = _locked(client).type, kind
        if before == kind:
            return
        client.save(update_fields=["type", "client_type", "updated"])
        client.secrets.filter(ended_at=None).update(ended_at=moment)
        live = Family.objects.filter(connection__client=client, revoked_at=None)
        live.update(revoked_at=moment, revoked_why="client type changed")
        _report("client.type_changed", client, actor, before={"type": before}, after={"type": kind})
