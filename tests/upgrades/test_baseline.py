"""The first migrations are final, and a database of others is refused (docs/upgrades.md#the-baseline)."""

import hashlib
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import ConnectionHandler

from core.database.first_migrations import ROOT, check_first_migrations
from tests.upgrades.baseline import NEWEST

FIRST = "0001_baseline"
# The beginning of the SHA-256 of each first migration's SQL for SQLite. Changes of the schema are new migrations.
FINAL = {
    "accounts": "e771d3d1e789a044",
    "api": "3317dd42a8096781",
    "console": "ff917300a60d6450",
    "oidc": "adc0465fc673da99",
    "operations": "9e23fcd671af877d",
    "review": "820aeb07272cf09a",
}

pytestmark = pytest.mark.django_db


def test_the_first_migrations_are_final() -> None:
    empty: Any = ConnectionHandler({"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})["default"]
    try:
        loader = MigrationLoader(empty)
        found = {app: loader.collect_sql([(loader.graph.nodes[app, FIRST], False)]) for app in FINAL}
    finally:
        empty.close()
    assert {app: hashlib.sha256("\n".join(sql).encode()).hexdigest()[:16] for app, sql in found.items()} == FINAL


def test_every_app_with_migrations_has_a_baseline() -> None:
    ours = {
        config.label for config in apps.get_app_configs() if (ROOT / config.name.partition(".")[0]).is_dir()
    } & MigrationLoader(None).migrated_apps
    assert ours == set(FINAL) == set(NEWEST)


@pytest.mark.parametrize("app", FINAL)
def test_a_database_of_other_first_migrations_is_refused(app: str) -> None:
    rows = MigrationRecorder(connection).migration_qs.filter(app=app)
    assert check_first_migrations(None, databases=["default"]) == []
    assert rows.filter(name=FIRST).update(name="0001_initial") == 1
    (found,) = check_first_migrations(None, databases=["default"])
    assert (found.id, f"{app}.0001_initial" in found.msg) == ("devportal.E025", True)
    assert check_first_migrations(None, databases=["replica"]) == check_first_migrations(None) == []
    with pytest.raises(CommandError, match=f"before 0.1.0 .{app}.0001_initial.*Use an empty database"):
        call_command("migrate", plan=True)


def test_an_empty_database_is_accepted() -> None:
    MigrationRecorder(connection).flush()
    assert check_first_migrations(None, databases=["default"]) == []
