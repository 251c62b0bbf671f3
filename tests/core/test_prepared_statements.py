"""Statements that are run through libpq (core/database/postgres/statements.py), beside a cursor's answers."""

import gc
from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver

from core.credentials import digest
from core.database.postgres.statements import PreparedStatement
from core.database.prepared_queries import PreparedQuery
from oidc.models import AccessToken, Client
from oidc.tokens import lookup
from tests.factories import make_client
from tests.relying_party import RelyingParty

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def fetch(sql: str, *parameters: str) -> Any:
    wrapper: Any = connection
    return wrapper.fetch(PreparedStatement(sql), parameters)


def test_every_read_of_a_token_is_the_same_as_through_a_cursor(web_app: RelyingParty) -> None:
    tokens = web_app.tokens()
    credentials = web_app.client.client_id, digest(tokens["refresh_token"])
    for query, arguments in (
        (lookup._READ_ACCESS_TOKEN, (digest(tokens["access_token"]),)),
        (lookup._READ_ALONE, (web_app.client.client_id,)),
        (lookup._READ_WITH_REFRESH_TOKEN, credentials),
        (lookup._READ_WITH_CODE, credentials),
        (lookup._READ_BY_REFRESH_TOKEN, (digest(tokens["refresh_token"]),)),
    ):
        straight = [tuple(row) for row in query.rows(*arguments)]
        assert query._compiled["postgresql"].statement is not None
        with transaction.atomic():
            by_cursor = [tuple(row) for row in query.rows(*arguments)]
        assert straight == by_cursor
        assert straight


def test_every_prepared_read_has_types_that_are_read(spa: Client) -> None:
    get_resolver().url_patterns  # noqa: B018  (imports the views, and with them what they read)
    gc.unfreeze()  # what is frozen is not listed
    # `isinstance` would evaluate lazy objects that other tests left, and some of those can't be evaluated.
    queries: list[PreparedQuery] = [each for each in gc.get_objects() if issubclass(type(each), PreparedQuery)]
    gc.freeze()
    assert len(queries) >= 9
    statements = 0
    for query in queries:
        times = [str(name).strip("\x02\x03") in ("now", "since") for name in query._stand_ins]
        query.rows(*("2026-01-01" if is_time else "0" for is_time in times))  # raises UnreadableType
        compiled = query._compiled["postgresql"]
        statements += compiled.statement is not None
    assert statements >= len(queries) - 2  # a plan's add-ons, and a difference of counts, are converted by Django


def test_values_of_all_types_are_read(spa: Client) -> None:
    sql = (
        "SELECT true, false, 7::smallint, -8::integer, 9::bigint, 'Größe 100%%'::text, ''::varchar, NULL::text, "
        "'2026-01-02 03:04:05.678+02'::timestamptz, %s"
    )
    row = fetch(sql, "argument")[0]
    assert row[:8] == (True, False, 7, -8, 9, "Größe 100%", "", None)
    assert row[8].isoformat() == "2026-01-02T01:04:05.678000+00:00"
    assert row[8].utcoffset() == timedelta(0)
    assert row[9] == "argument"


def test_it_is_prepared_once_on_a_connection(spa: Client) -> None:
    statement = PreparedStatement("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE %s")
    wrapper: Any = connection
    known = [wrapper.fetch(statement, [statement.name.decode()])[0][0] for _ in range(3)]
    assert known == [1, 1, 1]


def test_an_insert_of_anothers_is_seen_at_once(spa: Client) -> None:
    query = PreparedQuery(["name"], lambda name: Client.objects.filter(name=name).values_list("pk"))
    assert query.rows("Later") == []
    made = make_client(spa.project, name="Later")
    assert [tuple(row) for row in query.rows("Later")] == [(made.pk,)]


@pytest.mark.parametrize("change", ["DEALLOCATE ALL", "ALTER TABLE oidc_client ALTER COLUMN name TYPE varchar(200)"])
def test_a_stale_statement_is_prepared_again(spa: Client, change: str) -> None:
    statement = PreparedStatement("SELECT * FROM (SELECT name FROM oidc_client WHERE client_id = %s) AS found")
    wrapper: Any = connection
    assert wrapper.fetch(statement, [spa.client_id]) == [(spa.name,)]
    try:
        with connection.cursor() as cursor:
            cursor.execute(change)
        assert wrapper.fetch(statement, [spa.client_id]) == [(spa.name,)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE oidc_client ALTER COLUMN name TYPE varchar(255)")


def test_a_connection_that_was_lost_is_an_error_that_django_knows_and_the_next_one_is_whole(spa: Client) -> None:
    query = PreparedQuery(["name"], lambda name: Client.objects.filter(name=name).values_list("pk"))
    assert query.rows(spa.name)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = cursor.fetchone()[0]
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [backend])
    other.close()
    with pytest.raises(OperationalError):
        query.rows(spa.name)
    connection.close_if_unusable_or_obsolete()
    assert [tuple(row) for row in query.rows(spa.name)] == [(spa.pk,)]


def test_an_instrumentation_sees_the_statement(app: RelyingParty) -> None:
    checksum = digest(app.tokens()["access_token"])
    lookup.look_up_access_token(checksum)
    with CaptureQueriesContext(connection) as captured:
        lookup.look_up_access_token(checksum)
    assert len(captured) == 1
    seen = []

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        seen.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(note):
        lookup.look_up_access_token(checksum)
    assert len(seen) == 1


def test_it_is_part_of_a_transaction_that_is_under_way(app: RelyingParty) -> None:
    checksum = digest(app.tokens()["access_token"])
    with transaction.atomic():
        AccessToken.objects.filter(token_checksum=checksum).update(scope="openid")
        row = lookup.look_up_access_token(checksum)
        assert row is not None
        assert row.scope == "openid"
        transaction.set_rollback(True)


def test_a_nul_is_refused_and_not_the_end_of_the_text(spa: Client) -> None:
    query = PreparedQuery(["name"], lambda name: Client.objects.filter(name=name).values_list("pk"))
    with pytest.raises(DataError):
        query.rows(f"{spa.name}\x00and more")


def test_behind_a_pooler_all_goes_through_cursors(spa: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "POOLED", True)
    query = PreparedQuery(["name"], lambda name: Client.objects.filter(name=name).values_list("pk"))
    assert [tuple(row) for row in query.rows(spa.name)] == [(spa.pk,)]
    assert query._compiled["postgresql"].statement is None
