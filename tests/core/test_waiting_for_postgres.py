"""How long is waited for PostgreSQL, and by how many at once."""

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connections, transaction

from core.database.postgres import base, limits
from core.database.postgres.connection import PAUSE_SECONDS, Gate, configure
from core.serving.slots import SlotPool
from core.serving.worker_start import _end_request


def attempt(gate: Gate, error: Exception | None = None) -> str:
    """Return what came of a connection attempt: "made", "failed", or "refused" before it was one."""
    tried = False
    try:
        with gate.attempt():
            tried = True
            if error:
                raise error
    except psycopg.Error:
        return "failed" if tried else "refused"
    return "made"


def test_after_a_failure_one_tries_each_second_and_the_others_are_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr("core.database.postgres.connection.time.monotonic", lambda: now[0])
    gate = Gate()
    assert [attempt(gate), attempt(gate)] == ["made", "made"]
    assert attempt(gate, psycopg.OperationalError()) == "failed"
    assert attempt(gate) == "refused"
    now[0] += PAUSE_SECONDS
    with gate.attempt():
        assert attempt(gate) == "refused"  # one is under way
    assert attempt(gate) == "made"


def test_an_attempt_that_failed_leaves_the_way_to_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("core.database.postgres.connection.time.monotonic", lambda: now[0])
    gate = Gate()
    gate.close()
    for _ in range(3):
        assert attempt(gate) == "refused"
        now[0] += PAUSE_SECONDS
        assert attempt(gate, psycopg.OperationalError()) == "failed"
    now[0] += PAUSE_SECONDS
    assert attempt(gate) == "made"


def test_slow_waits_of_a_request_come_off_one_allowance_and_quick_ones_do_not() -> None:
    patience = limits.Patience(limits.Limits(statement=2.5, of_all=True))
    now = time.monotonic()
    patience.spend(now - 0.1)
    assert patience.left == 3.0
    patience.spend(now - 1)
    assert patience.left == pytest.approx(2.0, abs=0.1)
    patience.renew()
    assert patience.left == 3.0


def test_each_statement_of_a_task_has_the_whole_time() -> None:
    patience = limits.Patience(limits.Limits(statement=60))
    patience.spend(time.monotonic() - 30)
    assert patience.left == 60.5


def test_a_command_waits_as_long_as_it_takes() -> None:
    assert limits.Patience(limits.Limits()).left is None
    assert limits.Limits().server_options() == ""


def test_options_sent_to_the_server() -> None:
    given = limits.Limits(statement=2.5, lock=1, idle_in_transaction=0)
    assert given.server_options() == "-c statement_timeout=2500 -c lock_timeout=1000"


def postgres(**options: Any) -> dict[str, Any]:
    return {"ENGINE": "django.db.backends.postgresql", "NAME": "portal", "OPTIONS": options}


def test_a_pooler_gets_no_prepared_statements_and_no_cursors_that_stay() -> None:
    pooled, direct = postgres(), postgres()
    configure(pooled, pooling="transaction", connect_seconds=2)
    configure(direct, pooling="none", connect_seconds=2)
    assert "prepare_threshold" not in pooled["OPTIONS"]
    assert pooled["DISABLE_SERVER_SIDE_CURSORS"]
    assert direct["OPTIONS"]["prepare_threshold"] == 2
    with pytest.raises(ImproperlyConfigured):
        configure(postgres(), pooling="transactional", connect_seconds=2)


def test_options_in_the_database_url_count() -> None:
    database = postgres(connect_timeout=7, keepalives_idle=1)
    configure(database, pooling="none", connect_seconds=2)
    assert (database["OPTIONS"]["connect_timeout"], database["OPTIONS"]["keepalives_idle"]) == (7, 1)


def test_a_request_without_a_slot_has_no_database(db: None) -> None:
    pool = SlotPool(1, most_waiting=1, seconds=0.1)
    own = connections["default"]
    try:
        with pool.without(), pytest.raises(OperationalError):
            connections["default"].ensure_connection()
    finally:
        connections["default"] = own


@pytest.fixture
def limited(db: None) -> Iterator[Any]:
    """A connection as a request has it, with short limits."""
    limits._of_thread.limits = limits.Limits("test", statement=0.3, lock=0.1, of_all=True)
    connection = connections.create_connection("default")
    own = connections["default"]
    connections["default"] = connection
    base._gates.clear()
    try:
        yield connection
    finally:
        del limits._of_thread.limits
        base._gates.clear()
        connection.close()
        connections["default"] = own


def run(connection: Any, sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()


@pytest.mark.postgres
def test_the_server_ends_what_runs_too_long_and_the_connection_goes_on(limited: Any) -> None:
    with pytest.raises(OperationalError, match="statement timeout"):
        run(limited, "SELECT pg_sleep(5)")
    limited.patience.renew()
    assert run(limited, "SELECT 1") == (1,)


@pytest.mark.postgres
def test_statements_are_not_compiled(limited: Any) -> None:
    assert run(limited, "SHOW jit") == ("off",)


@pytest.mark.postgres
def test_a_silent_server_times_out_and_is_not_tried_again_immediately(limited: Any) -> None:
    run(limited, "SELECT set_config('statement_timeout', '0', false)")
    began = time.monotonic()
    with pytest.raises(OperationalError, match="does not answer"):
        run(limited, "SELECT pg_sleep(5)")
    assert time.monotonic() - began < 2
    limited.close_if_unusable_or_obsolete()
    assert limited.connection is None
    with pytest.raises(OperationalError, match="a moment ago"):
        run(limited, "SELECT 1")


@pytest.mark.postgres
def test_a_transaction_may_be_allowed_more_and_the_next_one_is_not(limited: Any) -> None:
    with transaction.atomic():
        limits.allow_long_statements()
        run(limited, "SELECT pg_sleep(0.6)")
    limited.patience.renew()
    with pytest.raises(OperationalError, match="statement timeout"):
        run(limited, "SELECT pg_sleep(5)")


@pytest.mark.postgres
def test_each_request_has_an_allowance_of_its_own(limited: Any) -> None:
    """Whether the one before ended, or lent its slot amid its work."""
    limited.patience.spend(time.monotonic() - 0.6)
    spent = limited.patience.left
    _end_request()
    assert limited.patience.left > spent
    pool = SlotPool(1, most_waiting=1, seconds=0.1)
    slot = pool.take()
    assert slot is not None
    try:
        held: Any = connections["default"]
        held.patience.spend(time.monotonic() - 0.6)
        with pool.lend():
            pass
        assert held.patience.left > spent
    finally:
        pool.give_back()
        connections["default"] = limited


@pytest.mark.postgres
def test_a_connection_is_asked_whether_it_works_once_it_has_rested(
    limited: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(limited, "SELECT 1")
    asked = []
    real = limited.is_usable

    def ask() -> Any:
        asked.append(1)
        return real()

    monkeypatch.setattr(limited, "is_usable", ask)
    for rested, times in ((0.0, 0), (base.FRESH_SECONDS + 1, 1)):
        _end_request()
        limited.last_used -= rested
        run(limited, "SELECT 1")
        assert len(asked) == times
