"""`manage.py migrate` on PostgreSQL: one at a time, and giving way to those who use a table."""

import io
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.core.management.commands.migrate import Command as DjangoCommand
from django.db import OperationalError, connection, connections

from core.database.postgres import limits
from core.database.schema_changes import Blocker, find_blocker
from devportal.operations.management.commands import migrate
from tests.services.service import ROOT, Service, unmigrated

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
TIMEOUTS = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")


def shown(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW {name}")
        return str(cursor.fetchone()[0])


@pytest.fixture
def other() -> Iterator[Any]:
    """Another session, in a transaction."""
    with closing(connection.copy()) as made:
        made.set_autocommit(False)
        yield made


def run(**options: Any) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("migrate", stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def do_instead(monkeypatch: pytest.MonkeyPatch, sql: str) -> list[float]:
    """Have Django's part of the command execute `sql`; return when it was tried."""
    tried: list[float] = []

    def handle(self: Any, *args: Any, **options: Any) -> None:
        tried.append(time.monotonic())
        with connection.cursor() as cursor:
            cursor.execute(sql)

    monkeypatch.setattr(DjangoCommand, "handle", handle)
    return tried


def test_its_statements_have_time_and_wait_briefly_for_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '7s'")
    seen = {}
    monkeypatch.setattr(DjangoCommand, "handle", lambda *_, **__: seen.update({n: shown(n) for n in TIMEOUTS}))
    run()
    assert seen == dict.fromkeys(TIMEOUTS, "0") | {"lock_timeout": "500ms"}
    assert [shown(name) for name in TIMEOUTS] == ["0", "0", "0"]  # what the session began with


@pytest.mark.parametrize(("patience", "lock"), [(0, 0.5), (0.001, 0.0005), (0.4, 0.2), (1, 0.5), (60, 0.5)])
def test_waiting_for_a_lock_ends_before_a_request_gives_up(settings: Any, patience: float, lock: float) -> None:
    settings.DATABASE_LOCK_TIMEOUT_SECONDS = patience
    assert migrate._lock_seconds() == lock


ALTER = "ALTER TABLE oidc_project ALTER COLUMN suspended_at DROP NOT NULL"


def test_requests_do_not_fail_behind_a_forgotten_transaction(monkeypatch: pytest.MonkeyPatch, other: Any) -> None:
    tried = do_instead(monkeypatch, ALTER)
    with other.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM oidc_project")
    over, outcomes = threading.Event(), []

    def request() -> None:
        limits.apply_to_tasks(this_thread_only=True)  # requests wait as long for locks
        try:
            while not over.wait(0.01):
                try:
                    with connection.cursor() as cursor:
                        cursor.execute("SELECT count(*) FROM oidc_project")
                    outcomes.append("read")
                except OperationalError as error:
                    outcomes.append(str(error))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(3) as pool:
        requests = [pool.submit(request) for _ in range(3)]
        try:
            with pytest.raises(CommandError, match="Gave up"):
                run(give_up_after=1)
        finally:
            over.set()
    assert [task.exception() for task in requests] == [None] * 3
    assert len(tried) > 1
    assert set(outcomes) == {"read"}


@pytest.mark.parametrize(
    ("application", "state", "age", "text"),
    [
        ("psql", "active", 0.2, "process 7 (psql), active, whose transaction is less than 1 s old"),
        ("", "idle in transaction", 61.4, "process 7, idle in transaction, whose transaction is 61 s old"),
        ("psql", "", 0, "process 7 (psql) of another role"),
    ],
)
def test_the_blocking_session_is_described(application: str, state: str, age: float, text: str) -> None:
    assert str(Blocker("oidc_project", 7, application, state, age)) == f"oidc_project is held by {text}"


def test_sessions_of_another_role_are_described(other: Any) -> None:
    """PostgreSQL shows little of them to a role without special rights."""
    assert migrate._take(other) == ""
    with other.cursor() as cursor, closing(connection.copy()) as weak, ThreadPoolExecutor(1) as pool:
        cursor.execute("LOCK oidc_project")
        cursor.execute("SELECT pg_backend_pid()")
        holder = cursor.fetchone()[0]
        weak.set_autocommit(False)
        with weak.cursor() as reader:
            reader.execute("CREATE ROLE weak_role")  # the transaction is rolled back
            reader.execute("SET LOCAL ROLE weak_role")
            assert migrate._holder(reader) == f"process {holder} of another role"
            waiting = connection.copy()
            waiting.inc_thread_sharing()
            with waiting.cursor() as waits:
                waits.execute("SELECT pg_backend_pid()")
                watched = waits.fetchone()[0]
                locked = pool.submit(waits.execute, "SELECT count(*) FROM oidc_project")
                while (blocker := find_blocker(weak, watched)) is None:
                    assert not locked.done()
                other.rollback()
                locked.result()
            waiting.close()
    assert str(blocker).startswith(f"oidc_project is held by process {holder}")
    assert str(blocker).endswith(" of another role")


def test_a_locked_table_is_reported_and_retried(monkeypatch: pytest.MonkeyPatch, other: Any) -> None:
    tried = do_instead(monkeypatch, ALTER)
    with other.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM oidc_project")
    started = time.monotonic()
    with pytest.raises(CommandError, match=r"Gave up after 2 s: oidc_project is held by process \d+.*idle in trans"):
        run(lock_timeout=0.6, give_up_after=2)
    assert len(tried) > 1
    assert time.monotonic() - started < 15


def test_the_migration_continues_when_the_lock_is_released(monkeypatch: pytest.MonkeyPatch, other: Any) -> None:
    tried = do_instead(monkeypatch, ALTER)
    with other.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM oidc_project")
    monkeypatch.setattr("time.sleep", lambda _: other.rollback())
    _, said = run(lock_timeout=0.6, give_up_after=60)
    assert len(tried) == 2
    assert "oidc_project is held by process" in said


def test_other_errors_are_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = do_instead(monkeypatch, "SELECT nothing")
    with pytest.raises(Exception, match="nothing"):
        run()
    assert len(tried) == 1


def test_waiting_for_another_migrate_ends(other: Any) -> None:
    assert migrate._take(other) == ""
    with pytest.raises(CommandError, match=r"Another migrate has been running for 0 s: process \d+"):
        run(wait=0)
    other.rollback()
    assert "No migrations to apply" in run()[0]


def test_the_migrate_lock_does_not_block_concurrent_indexes(other: Any) -> None:
    assert migrate._take(other) == ""
    with connection.cursor() as cursor:
        # Of this database alone: another process of the tests has one beside it.
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE state = 'idle in transaction' AND backend_xmin IS NOT NULL AND datname = current_database()"
        )
        assert cursor.fetchone()[0] == 0


def begin(service: Service) -> "subprocess.Popen[str]":
    command = [sys.executable, "manage.py", "migrate"]
    pipes: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=ROOT, env=service.environment(), **pipes)


@pytest.mark.slow
def test_two_at_once_on_an_empty_database_both_end_well() -> None:
    with unmigrated() as service:
        both = [begin(service), begin(service)]
        said = sorted((process.communicate(timeout=180)[0] for process in both), key=len)
        assert [process.returncode for process in both] == [0, 0], said
        assert "No migrations to apply" in said[0]
        assert said[1].count("Applying ") > 50
        with psycopg.connect(service.settings["DATABASE_URL"]) as database:
            twice = database.execute(b"SELECT app, name FROM django_migrations GROUP BY 1, 2 HAVING count(*) > 1")
            assert not twice.fetchall()
