"""Client authentication (RFC 6749 §2.3)."""

import base64
import binascii
from dataclasses import replace
from urllib.parse import unquote_plus

from django.conf import settings

from core.credentials import digest, matches
from oidc.errors import InvalidClient, MultipleAuthenticationMethods
from oidc.models import Client, ClientSecret
from oidc.projects.credentials import NO_DIGEST, note_use
from oidc.tokens.lookup import PresentedCredentials, look_up_by_refresh_token, look_up_credentials
from oidc.tokens.vouchers import Voucher
from oidc.values.reasons import Facts, Reason


def parse_basic_header(header: str) -> tuple[str, str]:
    """Return client id and secret of a Basic header, form-decoded (RFC 6749 §2.3.1). Raises InvalidClient."""
    scheme, _, encoded = header.strip().partition(" ")
    if scheme.lower() != "basic":
        raise InvalidClient(Reason.HEADER_UNREADABLE)
    try:
        client_id, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
        if not colon:
            raise InvalidClient(Reason.HEADER_UNREADABLE)
        pair = unquote_plus(client_id, errors="strict"), unquote_plus(secret, errors="strict")
    except (binascii.Error, ValueError) as error:
        raise InvalidClient(Reason.HEADER_UNREADABLE) from error
    if any("\x00" in text for text in pair):
        raise InvalidClient(Reason.HEADER_UNREADABLE)
    return pair


def choose_method(header: str | None, client_id: str | None, secret: str | None) -> tuple[str | None, str | None]:
    """Return the id and secret of the Authorization header, or of the form if there is no header.

    Raises MultipleAuthenticationMethods for two methods in one request (RFC 6749 §2.3), and InvalidClient.
    """
    if header is None:
        return client_id, secret
    basic_id, basic_secret = parse_basic_header(header)
    if secret:
        raise MultipleAuthenticationMethods
    if client_id and client_id != basic_id:
        raise InvalidClient(Reason.TWO_CLIENT_IDS)
    return basic_id, basic_secret


def authenticate_client(
    header: str | None,
    client_id: str | None,
    secret: str | None,
    *,
    code: str | None = None,
    refresh_token: str | None = None,
    secret_optional: bool = False,
    address: str = "",
    voucher: Voucher | None = None,
) -> PresentedCredentials:
    """Authenticate the client of a token or revocation request; return it with its code or refresh token.

    `header` is the Authorization header, `address` the caller's IP address for "last used", the others are form fields.
    With `secret_optional` a web client may omit its secret, but not send a wrong one. A refresh token that is sent
    alone identifies its client: RFC 6749 §6 does not require client_id from a client without a secret. A `voucher`
    stands in for a live secret if none was sent and it covers the credential (oidc/tokens/vouchers.py).

    Raises MultipleAuthenticationMethods for two methods in one request (RFC 6749 §2.3). Raises InvalidClient for no
    method, wrong credentials, or a secret sent by a client that has none.
    """
    client_id, secret = choose_method(header, client_id, secret)
    if refresh_token is not None and header is None and not client_id and not secret:
        presented = look_up_by_refresh_token(refresh_token)
    else:
        presented = look_up_credentials(client_id, code=code, refresh_token=refresh_token)
    if voucher is not None and header is None and not secret:
        # Without a live secret the app could not authenticate, and neither can a voucher.
        has_live_secret = any(not row.is_expired for row in presented.secrets)
        if has_live_secret and voucher.covers(presented, code=code, refresh_token=refresh_token):
            return replace(presented, proven=True)
    try:
        return replace(presented, proven=_check_secret(presented, secret, secret_optional, address))
    except InvalidClient as refusal:
        if not client_id:  # the reason must not reveal anything about a refresh token that was sent
            refusal.reason = Reason.CLIENT_UNNAMED
        raise


def _check_secret(presented: PresentedCredentials, secret: str | None, secret_optional: bool, address: str) -> bool:
    """Verify a client's secret; return whether a valid one was sent. Raises InvalidClient.

    Known and unknown clients do the same work: the same statements, and at least one comparison.
    """
    matching = [row for row in presented.secrets if matches(secret or "", row.digest)]
    if not presented.secrets:
        matches(secret or "", NO_DIGEST)
    other = _client_of_secret(secret, presented.client) if secret and not matching else ""
    if presented.client is None:
        raise InvalidClient(Reason.CLIENT_FAILED)
    claimed = presented.client.client_id
    # Compared for each request, so that an expiry takes effect immediately.
    usable = [row for row in matching if not row.is_expired]
    if presented.client.has_secret and matching and not usable:
        raise InvalidClient(Reason.SECRET_EXPIRED, {"last_four": matching[0].last_four}, claimed)
    if presented.client.has_secret and not usable and (secret or not secret_optional):
        raise InvalidClient(*_why_wrong(secret, other, presented.secrets), claimed)
    if not presented.client.has_secret and secret:
        raise InvalidClient(Reason.SECRET_UNEXPECTED, client_id=claimed)
    for row in usable:
        note_use(row, address)
    return bool(usable)


def _client_of_secret(secret: str, client: Client | None) -> str:
    """Return the name of another client of the same project that has this live secret, or ""."""
    if not secret.startswith(settings.CLIENT_SECRET_PREFIX):
        return ""
    project = client.project_id if client is not None else 0  # 0 is no project: unknown clients take as long
    rows = ClientSecret.objects.live().filter(client__project=project, digest=digest(secret))
    return rows.values_list("client__name", flat=True).first() or ""


def _why_wrong(secret: str | None, other: str, secrets: list[ClientSecret]) -> tuple[Reason, Facts]:
    if not secret:
        return Reason.SECRET_MISSING, {}
    if other:
        return Reason.SECRET_OF_OTHER_CLIENT, {"name": other}
    if secret.startswith(settings.API_KEY_PREFIX):
        return Reason.SECRET_IS_API_KEY, {}
    live: Facts = {"last_four": [row.last_four for row in secrets if not row.is_expired]}
    return (Reason.SECRET_WHITE_SPACE if secret[-1].isspace() else Reason.SECRET_WRONG), live
