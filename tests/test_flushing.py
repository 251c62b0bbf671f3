"""After a test that commits, the database holds again what it held after Django had flushed it."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.contrib.auth.models import Permission
from django.db import connection, transaction

from accounts.models import Account
from oidc.models import SigningKey
from tests.contents import contents
from tests.factories import make_account, make_client
from tests.services import flushing

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def held() -> flushing.Tables:
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return flushing.read(names)


def waits_for_a_lock() -> bool:
    """Tell whether a statement in this database waits for a lock."""
    own = "SELECT oid FROM pg_database WHERE datname = current_database()"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND database = ({own}))")
        return bool(cursor.fetchone()[0])


def test_rows_that_were_added_changed_or_deleted_are_as_before() -> None:
    tables, before = held(), contents()
    make_client()
    Permission.objects.filter(codename__startswith="add_").delete()
    SigningKey.objects.update(kid="another")
    assert contents() != before
    flushing.restore(tables)
    assert contents() == before


def test_a_thread_that_still_writes_is_waited_for() -> None:
    tables, before = held(), contents()
    has_written, may_commit = Event(), Event()

    def write() -> None:
        try:
            with transaction.atomic():
                make_account()
                has_written.set()
                assert may_commit.wait(20)
        finally:
            connection.close()

    def restore() -> None:
        try:
            flushing.restore(tables)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(write)
        assert has_written.wait(20)
        restoring = threads.submit(restore)
        while not restoring.done() and not waits_for_a_lock():
            time.sleep(0.02)
        has_waited = not restoring.done()
        may_commit.set()
        writing.result(20)
        restoring.result(20)
    assert has_waited
    assert not Account.objects.exists()
    assert contents() == before
