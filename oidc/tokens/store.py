"""Consuming a code or refresh token and storing the tokens issued for it, atomically and at most once.

On PostgreSQL this is one statement, so that a refresh makes two trips in all; elsewhere three in a transaction. The
row that is consumed is the lock: whoever finds it consumed stores nothing (docs/security.md#the-code-flow).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from devportal.lib import clock
from devportal.lib.credentials import digest
from devportal.lib.prepared_queries import InsertSpec
from oidc.models import AccessToken, AuthorizationCode, RefreshToken
from oidc.tokens import lost_answers

_BOTH = (
    "user_id",
    "application_id",
    "family_id",
    "token",
    "token_checksum",
    "expires",
    "resource",
    "created",
    "updated",
)
_ACCESS = InsertSpec(AccessToken, (*_BOTH, "scope", "used"))
_REFRESH = InsertSpec(RefreshToken, _BOTH)


@dataclass(frozen=True)
class TokenRecord:
    """The stored columns of a new token: its checksum, never the token."""

    checksum: str
    expires: datetime
    scope: str = ""
    used: bool | None = None  # of an access token: False, to have its first use noted (oidc/tokens/lost_answers.py)


def consume_and_store(consumed: AuthorizationCode | RefreshToken, access: str, refresh: str | None, scope: str) -> bool:
    """Consume a code or refresh token and store the tokens issued for it; return False if another request was first."""
    may_get_lost = isinstance(consumed, RefreshToken) and settings.REFRESH_GRACE_SECONDS > 0
    expires = clock.from_now(settings.ACCESS_TOKEN_SECONDS)
    access_token = TokenRecord(digest(access), expires, scope, used=False if may_get_lost else None)
    refresh_token = None
    if refresh is not None:
        refresh_token = TokenRecord(digest(refresh), clock.from_now(settings.REFRESH_TOKEN_SECONDS))
    return store_tokens(consumed, clock.now(), access_token, refresh_token)


def store_tokens(
    consumed: AuthorizationCode | RefreshToken, moment: datetime, access: TokenRecord, refresh: TokenRecord | None
) -> bool:
    """Consume the row and store the tokens; return False, storing nothing, if it was consumed before."""
    shared = {
        "user_id": consumed.user_id,
        "application_id": consumed.application_id,
        "family_id": consumed.family_id,
        "token": "",
        "resource": [],
        "created": moment,
        "updated": moment,
    }
    rows = [(_ACCESS, _values(shared, access))]
    if refresh is not None:
        rows.append((_REFRESH, _values(shared, refresh)))
    if isinstance(consumed, RefreshToken) and consumed.revoked is not None:
        return _in_place_of_a_lost_answer(consumed, access, refresh, rows)
    consume, parameters = _consuming(consumed, moment, access, refresh)
    if connection.vendor == "postgresql":
        return _in_one_statement(consume, parameters, rows)
    return _in_a_transaction(consume, parameters, rows)


def _consuming(
    consumed: AuthorizationCode | RefreshToken, moment: datetime, access: TokenRecord, refresh: TokenRecord | None
) -> tuple[str, list[Any]]:
    """Return the update that consumes the row unless it was consumed before, and its parameters."""
    column = "revoked" if isinstance(consumed, RefreshToken) else "consumed_at"
    values: dict[str, Any] = {column: moment}
    if isinstance(consumed, RefreshToken):
        keeps = refresh is not None and settings.REFRESH_GRACE_SECONDS > 0
        values["next_checksum"] = refresh.checksum if refresh is not None and keeps else None
        values["next_access_checksum"] = access.checksum if keeps else None
    assigned = ", ".join(f'"{name}" = %s' for name in values)
    sql = f'UPDATE "{consumed._meta.db_table}" SET {assigned} WHERE "id" = %s AND "{column}" IS NULL'  # noqa: S608  (names from the models)
    fields: list[Any] = [consumed._meta.get_field(name) for name in values]
    saved = [field.get_db_prep_save(value, connection) for field, value in zip(fields, values.values(), strict=True)]
    return sql, [*saved, consumed.pk]


def _values(shared: dict[str, Any], token: TokenRecord) -> dict[str, Any]:
    own = {"token_checksum": token.checksum, "expires": token.expires, "scope": token.scope, "used": token.used}
    return shared | own


def _in_one_statement(consume: str, parameters: list[Any], rows: list[tuple[InsertSpec, dict[str, Any]]]) -> bool:
    inserts = ", ".join(
        f"made_{place} AS (INSERT INTO {row.into()} SELECT {row.placeholders(connection)} FROM consumed)"  # noqa: S608  (as above)
        for place, (row, _) in enumerate(rows)
    )
    sql = f"WITH consumed AS ({consume} RETURNING 1), {inserts} SELECT count(*) FROM consumed"  # noqa: S608  (as above)
    for row, values in rows:
        parameters += row.parameters(connection, values)
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        found = cursor.fetchone()
    return bool(found and found[0])


def _in_a_transaction(consume: str, parameters: list[Any], rows: list[tuple[InsertSpec, dict[str, Any]]]) -> bool:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(consume, parameters)
        if cursor.rowcount != 1:
            return False
        _insert(cursor, rows)
    return True


def _in_place_of_a_lost_answer(
    superseded: RefreshToken, access: TokenRecord, refresh: TokenRecord | None, rows: list[tuple[InsertSpec, Any]]
) -> bool:
    with transaction.atomic(), connection.cursor() as cursor:
        if not lost_answers.end_answer(superseded, refresh.checksum if refresh else None, access.checksum):
            transaction.set_rollback(True)
            return False
        _insert(cursor, rows)
    return True


def _insert(cursor: Any, rows: list[tuple[InsertSpec, Any]]) -> None:
    for row, values in rows:
        sql = f"INSERT INTO {row.into()} VALUES ({row.placeholders(connection)})"  # noqa: S608  (as above)
        cursor.execute(sql, row.parameters(connection, values))
