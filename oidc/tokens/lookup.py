"""Look up presented credentials, with everything that their checks need, in one SQL statement.

For the token and revocation endpoints, that is the client with its secrets, and the code or refresh token with its
family, consent, person and subject. For an access token, it is the family with consent, person, subject and client.
Separate statements would cost more than the rest of the request.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db.models import FilteredRelation, Q, QuerySet

from accounts.models import Account, PairwiseSubject
from core.credentials import digest
from core.database.prepared_queries import PreparedQuery, RowMapper
from oidc.apis.credentials import credential_columns, credential_in
from oidc.clients.lookup import is_possible_client_id
from oidc.models import (
    AccessToken,
    ApiCredential,
    AuthorizationCode,
    Client,
    ClientSecret,
    Connection,
    Project,
    RefreshToken,
    TokenFamily,
)

# The columns that are read. The look-up of API keys (api/authentication.py) uses the first three lists as well.
PROJECT_FIELDS = ("public_id", "suspended_at", "deleted_at")
ACCOUNT_FIELDS = ("email", "email_verified", "given_name", "family_name", "picture", "is_active")
SUBJECT_FIELDS = ("sub", "picture_key")
_CLIENT_FIELDS = (
    "client_id",
    "authorization_grant_type",
    "project_id",
    "type",
    "enabled",
    "first_party",
    "approved_scopes",
    "optional_scopes",
    "name",
    "forgive_lost_responses",
)
_SECRET_FIELDS = ("digest", "last_four", "last_used_at", "expires_at")
_FAMILY_FIELDS = ("connection_id", "scope", "nonce", "auth_time", "authentication_claims", "sid", "revoked_at")
_CONNECTION_FIELDS = ("account_id", "client_id", "subject_id", "scopes", "left_out", "removed_at")
_CODE_FIELDS = (
    "family_id",
    "user_id",
    "application_id",
    "redirect_uri",
    "code_challenge",
    "code_challenge_method",
    "sent_resource",
)
_REFRESH_FIELDS = (
    "family_id",
    "user_id",
    "application_id",
    "expires",
    "revoked",
    "next_checksum",
    "next_access_checksum",
    "sent_resource",
)

_CLIENT_PARTS: dict[str, Any] = {
    "": (Client, _CLIENT_FIELDS),
    "project": (Project, PROJECT_FIELDS),
    "unrevoked_secret": (ClientSecret, _SECRET_FIELDS),
}


def _family_parts(path: str, fields: tuple[str, ...] = _FAMILY_FIELDS) -> dict[str, Any]:
    """Return the parts of a RowMapper for a family with its connection, account and subject, but not its client."""
    return {
        path: (TokenFamily, fields),
        f"{path}__connection": (Connection, _CONNECTION_FIELDS),
        f"{path}__connection__account": (Account, ACCOUNT_FIELDS),
        f"{path}__connection__subject": (PairwiseSubject, SUBJECT_FIELDS),
    }


_ALONE = RowMapper(_CLIENT_PARTS)
_WITH_CODE = RowMapper(
    _CLIENT_PARTS
    | {"shown": (AuthorizationCode, (*_CODE_FIELDS, "expires", "consumed_at"))}
    | _family_parts("shown__family")
)
_TOKEN = RowMapper(
    {"": (AccessToken, ("family_id", "expires", "scope", "used"))}
    | _family_parts("family", ("connection_id", "scope", "revoked_at"))
    | {
        "family__connection__client": (
            Client,
            ("client_id", "project_id", "enabled", "first_party", "approved_scopes"),
        ),
        "family__connection__client__project": (Project, PROJECT_FIELDS),
    }
)
_WITH_REFRESH_TOKEN = RowMapper(
    _CLIENT_PARTS | {"shown": (RefreshToken, _REFRESH_FIELDS)} | _family_parts("shown__family")
)


def _clients(**shown: FilteredRelation) -> "QuerySet[Any, Any]":
    unrevoked = FilteredRelation("secrets", condition=Q(secrets__revoked_at=None))
    clients: QuerySet[Any, Any] = Client.objects.annotate(unrevoked_secret=unrevoked, **shown)
    return clients


def _client(client_id: str, paths: list[str], **shown: FilteredRelation) -> "QuerySet[Any, Any]":
    return _clients(**shown).filter(client_id=client_id).values_list(*paths)


def _client_with_code(client_id: str, code: str) -> "QuerySet[Any, Any]":
    shown = FilteredRelation("authorizationcode", condition=Q(authorizationcode__code=code))
    return _client(client_id, _WITH_CODE.paths, shown=shown)


def _client_with_refresh_token(client_id: str, checksum: str) -> "QuerySet[Any, Any]":
    shown = FilteredRelation("refreshtoken", condition=Q(refreshtoken__token_checksum=checksum))
    return _client(client_id, _WITH_REFRESH_TOKEN.paths, shown=shown)


def _client_of_refresh_token(checksum: str) -> "QuerySet[Any, Any]":
    shown = FilteredRelation("refreshtoken", condition=Q(refreshtoken__token_checksum=checksum))
    return _clients(shown=shown).filter(shown__token_checksum=checksum).values_list(*_WITH_REFRESH_TOKEN.paths)


def _access_token(checksum: str) -> "QuerySet[Any, Any]":
    return AccessToken.objects.filter(token_checksum=checksum).values_list(*_TOKEN.paths)


def _access_token_and_credential(checksum: str, public_id: str) -> "QuerySet[Any, Any]":
    columns = credential_columns(public_id)
    tokens: QuerySet[Any, Any] = AccessToken.objects.annotate(**columns).filter(token_checksum=checksum)
    return tokens.values_list(*_TOKEN.paths, *columns)


_READ_ACCESS_TOKEN = PreparedQuery(["checksum"], _access_token)
_READ_ACCESS_TOKEN_AND_CREDENTIAL = PreparedQuery(["checksum", "public_id"], _access_token_and_credential)
_READ_ALONE = PreparedQuery(["client_id"], lambda client_id: _client(client_id, _ALONE.paths))
_READ_WITH_CODE = PreparedQuery(["client_id", "digest"], _client_with_code)
_READ_WITH_REFRESH_TOKEN = PreparedQuery(["client_id", "digest"], _client_with_refresh_token)
_READ_BY_REFRESH_TOKEN = PreparedQuery(["digest"], _client_of_refresh_token)


@dataclass(frozen=True)
class PresentedCredentials:
    """A client that a request names (None if unknown), its secrets, and its code or refresh token.

    `secrets` are not revoked, but may be expired. `proven` is True if the request contained a valid secret.
    """

    client: Client | None = None
    secrets: list[ClientSecret] = field(default_factory=list)
    credential: AuthorizationCode | RefreshToken | None = None
    proven: bool = False

    @property
    def family(self) -> TokenFamily:
        """The token family of the code or refresh token, which must have been found."""
        assert self.credential is not None
        family: TokenFamily = self.credential.family
        return family


def look_up_access_token(checksum: str) -> AccessToken | None:
    """Return the row of the access token with this SHA-256 (with family, connection, account and client), or None."""
    rows = _READ_ACCESS_TOKEN.rows(checksum)
    row: AccessToken | None = _TOKEN.build(rows[0])[""] if rows else None
    return row


def look_up_access_token_for_api(checksum: str, public_id: str) -> tuple[AccessToken, ApiCredential | None] | None:
    """Look up an access token as above, together with the credential of an API. Return None if there is no token."""
    rows = _READ_ACCESS_TOKEN_AND_CREDENTIAL.rows(checksum, public_id)
    return (_TOKEN.build(rows[0])[""], credential_in(rows[0])) if rows else None


def look_up_credentials(
    client_id: str | None, *, code: str | None = None, refresh_token: str | None = None
) -> PresentedCredentials:
    """Look up a client together with one raw code or refresh token of that client."""
    if not is_possible_client_id(client_id):
        client_id = settings.CLIENT_ID_PREFIX  # no client has this id; an invalid id takes as long as a valid one
    if code is not None:
        mapper, rows = _WITH_CODE, _READ_WITH_CODE.rows(client_id or "", digest(code))
    elif refresh_token is not None:
        mapper, rows = _WITH_REFRESH_TOKEN, _READ_WITH_REFRESH_TOKEN.rows(client_id or "", digest(refresh_token))
    else:
        mapper, rows = _ALONE, _READ_ALONE.rows(client_id or "")
    return _presented(mapper, rows)


def look_up_by_refresh_token(raw: str) -> PresentedCredentials:
    """Look up a raw refresh token together with the client that it was issued to."""
    return _presented(_WITH_REFRESH_TOKEN, _READ_BY_REFRESH_TOKEN.rows(digest(raw)))


def _presented(mapper: RowMapper, rows: Sequence[Sequence[Any]]) -> PresentedCredentials:
    if not rows:
        return PresentedCredentials()
    found = [mapper.build(row) for row in rows]
    first = found[0]
    credential = first.get("shown")
    if credential is not None:
        credential.family.connection.client = first[""]
    secrets = [row["unrevoked_secret"] for row in found if row["unrevoked_secret"] is not None]
    return PresentedCredentials(first[""], secrets, credential)
