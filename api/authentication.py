"""Authentication of calls to `/v1` and to the company's own APIs.

A bearer credential becomes a Caller, in one SQL statement, or a documented error.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from django.conf import settings
from django.db import DatabaseError
from django.db.models import QuerySet
from oauth2_provider.utils import parse_bearer_token
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from accounts.models import Account, PairwiseSubject
from api import keys
from api.errors import REALM, ApiError, unforeseen
from api.models import ApiKey
from api.usage_counts import CallOwner
from core import clock
from core.credentials import matches
from core.database.prepared_queries import PreparedQuery, RowMapper
from core.messages import fill_in
from oidc.apis.credentials import credential_columns, credential_in
from oidc.apis.registry import ApiSnapshot
from oidc.errors import InvalidToken
from oidc.models import AccessToken, ApiCredential, Project
from oidc.tokens import access_tokens, refresh_tokens
from oidc.tokens.jwt import audience_of_id_token
from oidc.tokens.lookup import ACCOUNT_FIELDS, PROJECT_FIELDS, SUBJECT_FIELDS
from oidc.values.reasons import Facts, Reason

_KEY = RowMapper(
    {
        "": (
            ApiKey,
            (
                "project_id",
                "owner_id",
                "subject_id",
                "public_id",
                "digest",
                "permissions",
                "created_at",
                "expires_at",
                "revoked_at",
            ),
        ),
        "project": (Project, PROJECT_FIELDS),
        "owner": (Account, ACCOUNT_FIELDS),
        "subject": (PairwiseSubject, SUBJECT_FIELDS),
    }
)


def _keys(public_id: str) -> "QuerySet[Any, Any]":
    return ApiKey.objects.filter(public_id=public_id).values_list(*_KEY.paths)


def _keys_and_credential(public_id: str, credential: str) -> "QuerySet[Any, Any]":
    columns = credential_columns(credential)
    return ApiKey.objects.annotate(**columns).filter(public_id=public_id).values_list(*_KEY.paths, *columns)


_READ_KEY = PreparedQuery(["public_id"], _keys)
_READ_KEY_AND_CREDENTIAL = PreparedQuery(["public_id", "credential"], _keys_and_credential)
# The public id of the key that this process uses for its own calls; requests from outside can't set it.
_KEY_OF_CALL: ContextVar[str] = ContextVar("key_of_call", default="")
_OF_OTHER_API = "The access token is for the API {audience}. Request one for this API with the resource {resource}."
_SUSPENDED = "The project is suspended. Its owner can ask the service why."


@contextmanager
def call_as_key(public_id: str) -> Iterator[None]:
    """Handle calls that this process makes within the block as if they had presented this key.

    The key's secret is not stored, so it can't be presented. Its state is checked as usual. The caller must check that
    the person who asks for the call may act as the key's owner.
    """
    before = _KEY_OF_CALL.set(public_id)
    try:
        yield
    finally:
        _KEY_OF_CALL.reset(before)


class Caller(NamedTuple):
    """An authenticated call: the person, their subject in the project, and the scopes of the credential.

    `key` or `client` is the caller for limits and usage: the public id of an API key, or a client id; the other is "".
    """

    account: Account
    subject: PairwiseSubject
    project: Project
    scopes: frozenset[str]
    key: str = ""
    client: str = ""


class RejectedCredential(ApiError):
    """A known credential that is no longer valid. Its owner is included, so that the developer sees the refusal."""

    def __init__(
        self, code: str, message: str, *, project: int, key: str = "", client: str = "", facts: Facts | None = None
    ) -> None:
        super().__init__(code, message, facts=facts)
        self.project = project
        self.key = key
        self.client = client


class UnprovenCredential(ApiError):
    """A refused credential that names a key or a client, but does not prove that the caller has a secret of it.

    The names are not looked up: they are only for the request log, where developers don't see unknown ones.
    """

    def __init__(self, code: str, message: str, *, key: str = "", client: str = "") -> None:
        super().__init__(code, message)
        self.key = key
        self.client = client


def owner_of_unproven(refusal: Exception) -> CallOwner:
    """Return for whom a call with a refused credential is logged: whom it names, or nobody."""
    return CallOwner(None, refusal.key, refusal.client) if isinstance(refusal, UnprovenCredential) else CallOwner(None)


class BearerAuthentication(BaseAuthentication):
    """A key or an access token in the Authorization header: `request.auth` is the Caller, `request.user` the Account.

    A token in the query or body is never read (RFC 6750 §2.1 only).
    """

    def authenticate(self, request: Request) -> tuple[Account, Caller] | None:
        """Return the person and Caller of the credential, None if none was sent.

        Raises ApiError for an unknown credential, RejectedCredential for one that is no longer valid, and
        UnprovenCredential for a mistyped key or an ID token.
        """
        raw = parse_bearer_token(request.META.get("HTTP_AUTHORIZATION"))
        if raw is None:
            return None
        try:
            if public_id := _KEY_OF_CALL.get():
                caller = _as_key(public_id)
            else:
                caller = _by_key(raw) if keys.looks_like_key(raw) else _by_token(raw)
        except DatabaseError as failure:
            raise unforeseen(failure) from failure
        return caller.account, caller

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge, which makes Django REST framework answer a failure with 401."""
        return f'Bearer realm="{REALM}"'


def find_caller(raw: str, api: ApiSnapshot) -> Caller:
    """Return the caller of a credential at one of the company's own APIs.

    Raises ApiError as `BearerAuthentication` does, also for a token for another API.
    """
    return _by_key(raw) if keys.looks_like_key(raw) else _by_token(raw, api)


def _by_key(raw: str) -> Caller:
    public_id = keys.parse_public_id(raw)
    if public_id is None:
        text = "This API key was mistyped or cut off: its checksum does not match. Copy it again."
        raise UnprovenCredential("invalid_api_key", text, key=keys.public_id_of_mistyped(raw))
    row = _read_key(public_id)
    if row is None or not matches(raw, row.digest):
        raise _unknown_key(public_id)
    return caller_of_key(row)


def _as_key(public_id: str) -> Caller:
    row = _read_key(public_id)
    if row is None:
        raise _unknown_key(public_id)
    return caller_of_key(row)


def look_up_key_for_api(public_id: str, credential: str) -> tuple[ApiKey, ApiCredential | None] | None:
    """Look up a key by its public id, together with the credential of an API. Return None if there is no such key."""
    rows = _READ_KEY_AND_CREDENTIAL.rows(public_id, credential)
    return (_KEY.build(rows[0])[""], credential_in(rows[0])) if rows else None


def _read_key(public_id: str) -> ApiKey | None:
    rows = _READ_KEY.rows(public_id)
    row: ApiKey | None = _KEY.build(rows[0])[""] if rows else None
    return row


def _unknown_key(public_id: str) -> ApiError:
    return UnprovenCredential("invalid_api_key", "This API key is unknown.", key=public_id)


def caller_of_key(row: ApiKey) -> Caller:
    """Return the caller of a key whose secret was presented. Raises RejectedCredential if it is no longer valid."""
    expired = row.expires_at is not None and row.expires_at <= clock.now()
    if row.revoked_at is not None or expired or not row.owner.is_active or row.project.is_deleted:
        text = "This API key is revoked or expired."
        raise RejectedCredential("invalid_api_key", text, project=row.project_id, key=row.public_id)
    if row.project.is_suspended:
        raise RejectedCredential("project_suspended", _SUSPENDED, project=row.project_id, key=row.public_id)
    permissions = frozenset(row.permissions.split())
    return Caller(row.owner, row.subject, row.project, permissions, key=row.public_id)


def _by_token(raw: str, api: ApiSnapshot | None = None) -> Caller:
    try:
        row = access_tokens.find_access_token(raw, api.identifier if api else None)
    except InvalidToken as bad:
        if bad.row is None:
            raise _not_an_access_token(raw) from bad
        raise rejected_token(bad.row, bad.reason, bad.audience, api) from bad
    if api is None and row.family.connection.client.first_party:
        raise rejected_token(row, Reason.ACCESS_TOKEN_INVALID)
    return caller_of_token(row)


def caller_of_token(row: AccessToken) -> Caller:
    """Return the caller of a live access token, with the scopes that are still granted."""
    connection = row.family.connection
    still_allowed = frozenset(refresh_tokens.effective_scopes(row.family))
    scopes = frozenset(row.scope.split()) & still_allowed
    assert connection.account is not None
    assert connection.subject is not None
    client = connection.client
    return Caller(connection.account, connection.subject, client.project, scopes, client=client.client_id)


def _not_an_access_token(raw: str) -> ApiError:
    """Return the error for a token of which there is no row. An ID token of this service is named as such."""
    try:
        client_id = audience_of_id_token(raw)
    except InvalidToken:
        return ApiError("invalid_token", "The access token is invalid or expired.")
    text = "This is an ID token. Send the access token, which came in the same response."
    return UnprovenCredential("invalid_token", text, client=client_id)


def rejected_token(
    row: AccessToken, reason: Reason, audience: str = "", api: ApiSnapshot | None = None
) -> RejectedCredential:
    """Return the error for an access token that this service issued, but does not accept at `api` (None: `/v1`).

    `audience` is the identifier of the API that a live token is for, if it is another one.
    """
    client = row.family.connection.client
    known: dict[str, Any] = {"project": client.project.pk, "client": client.client_id}
    if reason == Reason.PROJECT_SUSPENDED and not client.first_party:
        return RejectedCredential("project_suspended", _SUSPENDED, **known)
    if audience:
        facts: Facts = {"audience": audience, "resource": api.identifier if api else settings.BASE_URL}
        return RejectedCredential("invalid_token", fill_in(_OF_OTHER_API, facts), facts=facts, **known)
    text = "The access token is expired, its access was removed, or its app is turned off."
    return RejectedCredential("invalid_token", text, **known)
