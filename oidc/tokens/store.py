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
_ACCESS = InsertSpec(AccessToken, (*_BOTH, "scope"))
_REFRESH = InsertSpec(RefreshToken, _BOTH)


@dataclass(frozen=True)
class TokenRecord:
    """The stored columns of a new token: its checksum, never the token."""

    checksum: str
    expires: datetime
    scope: str = ""


def consume_and_store(consumed: AuthorizationCode | RefreshToken, access: str, refresh: str | None, scope: str) -> bool:
    """Consume a code or refresh token and store the tokens issued for it; return False if another request was first."""
    access_token = TokenRecord(digest(access), clock.from_now(settings.ACCESS_TOKEN_SECONDS), scope)
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
    # A superseded refresh token that REFRESH_GRACE_SECONDS forgives is consumed already.
    again = isinstance(consumed, RefreshToken) and consumed.revoked is not None
    column = "revoked" if isinstance(consumed, RefreshToken) else "consumed_at"
    still = "" if again else f' AND "{column}" IS NULL'
    value = consumed.revoked if again else moment
    consume = f'UPDATE "{consumed._meta.db_table}" SET "{column}" = %s WHERE "id" = %s{still}'  # noqa: S608  (names from the models)
    field: Any = consumed._meta.get_field(column)
    parameters = [field.get_db_prep_save(value, connection), consumed.pk]
    if connection.vendor == "postgresql":
        return _in_one_statement(consume, parameters, rows)
    return _in_a_transaction(consume, parameters, rows)


def _values(shared: dict[str, Any], token: TokenRecord) -> dict[str, Any]:
    return shared | {"token_checksum": token.checksum, "expires": token.expires, "scope": token.scope}


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
        for row, values in rows:
            sql = f"INSERT INTO {row.into()} VALUES ({row.placeholders(connection)})"  # noqa: S608  (as above)
            cursor.execute(sql, row.parameters(connection, values))
    return True
