"""Consume a code or refresh token and store the tokens issued for it, atomically and at most once.

On PostgreSQL this takes one statement, so that a refresh needs two round trips in total. Other databases use three
statements in a transaction. The consumed row acts as a lock: a request that finds it already consumed stores nothing
(docs/security.md#the-code-flow).
"""

import functools
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections, transaction

from core import clock
from core.credentials import digest
from core.database.postgres.statements import PreparedStatement
from core.database.prepared_queries import InsertSpec
from oidc.models import AccessToken, AuthorizationCode, RefreshToken
from oidc.projects.holds import hold_sql
from oidc.tokens import refresh_tokens

_BOTH = {
    "user_id": '"user_id"',  # from the consumed row, like the next two
    "application_id": '"application_id"',
    "family_id": '"family_id"',
    "token": "''",
    "resource": "'[]'",
    "created": "%(moment)s",
    "updated": "%(moment)s",
}
_ACCESS = InsertSpec(
    AccessToken,
    _BOTH
    | {
        "token_checksum": "%(access_checksum)s",
        "expires": "%(access_expires)s",
        "scope": "%(scope)s",
        "used": "%(used)s",
    },
)
_REFRESH = InsertSpec(
    RefreshToken,
    _BOTH
    | {
        "token_checksum": "%(refresh_checksum)s",
        "expires": "%(refresh_expires)s",
        "sent_resource": "%(sent_resource)s",
    },
)


@dataclass(frozen=True)
class TokenRecord:
    """The stored columns of a new token. They include its checksum, never the token."""

    checksum: str
    expires: datetime
    scope: str = ""
    used: bool | None = None  # False: store the first use of this access token (oidc/tokens/refresh_tokens.py)
    sent_resource: bool = False  # of a refresh token


@dataclass(frozen=True)
class Statements:
    """The SQL that consumes a row and stores tokens, with named parameters: in one statement, or in several."""

    together: str
    prepared: PreparedStatement | None  # the same statement, on PostgreSQL
    consume: str
    inserts: tuple[str, ...]


def consume_and_store(
    consumed: AuthorizationCode | RefreshToken, access: str, refresh: str | None, scope: str, sent_resource: bool
) -> bool:
    """Consume a code or refresh token and store the tokens issued for it.

    `scope` is that of the access token, and `sent_resource` that of the refresh token. Return False if another request
    was first, or the person or the client has just been deleted.
    """
    may_get_lost = isinstance(consumed, RefreshToken) and _is_forgiven(consumed)
    expires = clock.from_now(settings.ACCESS_TOKEN_SECONDS)
    access_token = TokenRecord(digest(access), expires, scope, used=False if may_get_lost else None)
    refresh_token = None
    if refresh is not None:
        expires = clock.from_now(settings.REFRESH_TOKEN_SECONDS)
        refresh_token = TokenRecord(digest(refresh), expires, sent_resource=sent_resource)
    return store_tokens(consumed, clock.now(), access_token, refresh_token)


def store_tokens(
    consumed: AuthorizationCode | RefreshToken, moment: datetime, access: TokenRecord, refresh: TokenRecord | None
) -> bool:
    """Consume the row and store the tokens; return False, storing nothing, if it can no longer be consumed."""
    connection = connections[DEFAULT_DB_ALIAS]
    statements = _statements(connection.vendor, isinstance(consumed, RefreshToken), refresh is not None)
    parameters = _parameters(connection, consumed, moment, access, refresh)
    if isinstance(consumed, RefreshToken):
        if consumed.revoked is not None:
            return _replace_lost_response(consumed, access, refresh, statements, parameters)
        keeps = _is_forgiven(consumed)
        parameters["next_checksum"] = refresh.checksum if refresh is not None and keeps else None
        parameters["next_access_checksum"] = access.checksum if keeps else None
    if connection.vendor == "postgresql":
        return _in_one_statement(connection, statements, parameters)
    return _in_a_transaction(statements, parameters)


def _is_forgiven(consumed: RefreshToken) -> bool:
    return refresh_tokens.grace_seconds(consumed.family.connection.client) > 0


@functools.cache
def _statements(vendor: str, of_refresh_token: bool, with_refresh: bool) -> Statements:
    """Return the statements for one kind of row and response. Their text never varies, so they stay prepared."""
    connection: Any = connections[DEFAULT_DB_ALIAS]
    table = (RefreshToken if of_refresh_token else AuthorizationCode)._meta.db_table
    column, others = "consumed_at", ""
    if of_refresh_token:
        column = "revoked"
        others = ', "next_checksum" = %(next_checksum)s, "next_access_checksum" = %(next_access_checksum)s'
    consume = f'UPDATE "{table}" SET "{column}" = %(moment)s{others} WHERE "id" = %(id)s AND "{column}" IS NULL'  # noqa: S608  (names from the models)
    made = [_ACCESS, _REFRESH] if with_refresh else [_ACCESS]
    parts = [f"made_{place} AS ({insert.sql(connection, 'consumed')})" for place, insert in enumerate(made)]
    held = hold_sql("%(account)s", "%(client)s")
    returning = f'{consume} AND {held} RETURNING "user_id", "application_id", "family_id"'
    together = f"WITH consumed AS ({returning}), {', '.join(parts)} SELECT 1 FROM consumed"  # noqa: S608  (as above)
    return Statements(
        together=together,
        prepared=connection.new_statement(together) if vendor == "postgresql" else None,
        consume=consume,
        inserts=tuple(insert.sql(connection, f'"{table}" WHERE "id" = %(id)s') for insert in made),
    )


def _parameters(
    connection: Any,
    consumed: AuthorizationCode | RefreshToken,
    moment: datetime,
    access: TokenRecord,
    refresh: TokenRecord | None,
) -> dict[str, Any]:
    adapted = connection.ops.adapt_datetimefield_value
    parameters = {
        "id": consumed.pk,
        "account": consumed.user_id,
        "client": consumed.application_id,
        "moment": adapted(moment),
        "access_checksum": access.checksum,
        "access_expires": adapted(access.expires),
        "scope": access.scope,
        "used": access.used,
    }
    if refresh is not None:
        parameters |= {
            "refresh_checksum": refresh.checksum,
            "refresh_expires": adapted(refresh.expires),
            "sent_resource": refresh.sent_resource,
        }
    return parameters


def _in_one_statement(connection: Any, statements: Statements, parameters: dict[str, Any]) -> bool:
    if statements.prepared is not None:
        rows = connection.fetch(statements.prepared, [parameters[name] for name in statements.prepared.names])
        if rows is not None:
            return len(rows) == 1
    with connection.cursor() as cursor:
        cursor.execute(statements.together, parameters)
        return bool(cursor.rowcount == 1)


def _in_a_transaction(statements: Statements, parameters: dict[str, Any]) -> bool:
    with transaction.atomic(), connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(statements.consume, parameters)
        if cursor.rowcount != 1:
            return False
        _insert(cursor, statements, parameters)
    return True


def _replace_lost_response(
    superseded: RefreshToken,
    access: TokenRecord,
    refresh: TokenRecord | None,
    statements: Statements,
    parameters: dict[str, Any],
) -> bool:
    with transaction.atomic(), connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        if not refresh_tokens.end_response(superseded, refresh.checksum if refresh else None, access.checksum):
            transaction.set_rollback(True)
            return False
        _insert(cursor, statements, parameters)
    return True


def _insert(cursor: Any, statements: Statements, parameters: dict[str, Any]) -> None:
    for sql in statements.inserts:
        cursor.execute(sql, parameters)
