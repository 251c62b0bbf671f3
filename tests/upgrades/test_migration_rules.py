"""Migrations since 0.1.0 can run while the version before serves (docs/upgrades.md#expand-and-contract)."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from core.database.schema_changes import AddIndexConcurrently, DropForeignKeyIndex
from tests.upgrades.baseline import NEWEST

# Each takes from the state before what it still reads or writes: only in a migration that says what it is.
CONTRACTING = (
    migrations.RemoveField, migrations.RenameField, migrations.DeleteModel, migrations.RenameModel,
    migrations.AlterModelTable, migrations.RemoveConstraint,
)  # fmt: skip
# Changes of many rows that have no batches.
AT_ONCE = (".update(", ".delete()", "bulk_update(", "UPDATE ", "DELETE ")
IN_BATCHES = ("backfill(", "delete_in_batches(")


def refusals(migration: migrations.Migration, before: Any, created: frozenset[str]) -> Iterator[str]:
    """Say what of a migration would keep others waiting, or break the state before; `created`: models that are new."""
    contract = getattr(migration, "contract", "")
    changed = {str(getattr(operation, "model_name", "")).lower() for operation in flattened(migration.operations)}
    if len(changed - created - {""}) > 1:
        yield f"it locks several tables, {sorted(changed - created)}: change each in a separate migration"
    for operation in flattened(migration.operations):
        model = str(getattr(operation, "model_name", "")).lower()
        if isinstance(operation, CONTRACTING) and not contract:
            yield f'{type(operation).__name__} takes something away: a later release does, with `contract = "why"`'
        elif isinstance(operation, migrations.RunPython):
            yield from refusals_of_code(operation, migration)
        elif isinstance(operation, migrations.RunSQL):
            yield "RunSQL can't be read here: write an operation"
        elif model not in created:
            yield from refusals_of_change(operation, migration, before)


def flattened(operations: Any) -> Iterator[Operation]:
    for operation in operations:
        if isinstance(operation, migrations.SeparateDatabaseAndState):
            yield from flattened(operation.database_operations)
        else:
            yield operation


def refusals_of_code(operation: migrations.RunPython, migration: migrations.Migration) -> Iterator[str]:
    source = inspect.getsource(operation.code)
    if any(word in source for word in AT_ONCE) and not any(word in source for word in IN_BATCHES):
        yield "RunPython changes rows in one statement: use core.database.batches"
    if len(migration.operations) > 1:
        yield "RunPython stands beside other operations, whose locks would last as long: give it a separate migration"


def refusals_of_change(operation: Operation, migration: migrations.Migration, before: Any) -> Iterator[str]:
    if isinstance(operation, AddIndexConcurrently):
        if migration.atomic or len(migration.operations) > 1:
            yield "an index is built concurrently in a separate migration, with atomic = False"
    elif isinstance(operation, migrations.AddIndex | migrations.AddConstraint):
        yield f"{type(operation).__name__} locks a table while it is read: see docs/upgrades.md"
    elif isinstance(operation, migrations.AddField):
        field: Any = operation.field
        if not field.null and not field.has_db_default() and not field.many_to_many:
            yield "AddField: a column that the state before does not write is null=True or has a db_default"
        if field.db_index or field.unique:
            yield "AddField with an index: add that by itself, concurrently"
    elif isinstance(operation, migrations.AlterField) and not isinstance(operation, DropForeignKeyIndex):
        old = before.models[migration.app_label, operation.model_name_lower].fields[operation.name]
        if of_the_column(old) != of_the_column(operation.field):
            yield "AlterField of a column may write the whole table again: add another column"


def of_the_column(field: Any) -> tuple[Any, ...]:
    _, path, positional, named = field.deconstruct()
    return path, positional, {name: value for name, value in named.items() if name not in field.non_db_attrs}


def newer() -> list[tuple[str, str]]:
    graph = MigrationLoader(None).graph
    return sorted(key for key in graph.nodes if key[0] in NEWEST and int(key[1][:4]) > NEWEST[key[0]])


@pytest.mark.parametrize("key", newer(), ids="-".join)
def test_a_migration_can_run_beside_the_state_before(key: tuple[str, str]) -> None:
    loader = MigrationLoader(None)
    found = list(refusals(loader.graph.nodes[key], loader.project_state(key, at_end=False), new_models(loader, key[0])))
    assert not found, f"{key}: {found}"


def new_models(loader: MigrationLoader, app: str) -> frozenset[str]:
    """Return the models that migrations since the baseline create."""
    made = (operation for key in newer() if key[0] == app for operation in loader.graph.nodes[key].operations)
    return frozenset(operation.name_lower for operation in made if isinstance(operation, migrations.CreateModel))


_TEXT = models.TextField()
_INDEX = models.Index(fields=["name"], name="some_index")


def write_everywhere(found: Any, schema_editor: Any) -> None:
    found.get_model("oidc", "Project").objects.update(name="")


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("project", "note", _TEXT),
        migrations.AddField("project", "note", models.TextField(null=True, db_index=True)),
        migrations.AddIndex("project", _INDEX),
        AddIndexConcurrently("project", _INDEX),  # in a migration that is atomic
        migrations.AlterField("project", "name", models.CharField(max_length=50)),
        migrations.AddConstraint("project", models.UniqueConstraint(fields=["name"], name="some_constraint")),
        migrations.RemoveField("project", "name"),
        migrations.RenameField("project", "name", "title"),
        migrations.DeleteModel("Project"),
        migrations.RunPython(write_everywhere),
        migrations.RunSQL("SELECT 1"),
        migrations.SeparateDatabaseAndState(database_operations=[migrations.RemoveField("project", "name")]),
    ],
    ids=lambda operation: type(operation).__name__,
)
def test_unsafe_migrations_are_rejected(operation: Operation) -> None:
    assert list(refusals(made_of(operation), before(), frozenset()))


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("project", "note", models.TextField(null=True)),
        migrations.AddField("project", "note", models.TextField(db_default="")),
        migrations.AlterField("project", "name", models.CharField(max_length=100, help_text="Anything")),
        migrations.CreateModel("Thing", [("id", models.BigAutoField(primary_key=True))]),
        migrations.AddIndex("thing", _INDEX),
    ],
    ids=lambda operation: type(operation).__name__,
)
def test_safe_migrations_are_accepted(operation: Operation) -> None:
    assert not list(refusals(made_of(operation), before(), frozenset({"thing"})))


def test_a_migration_of_two_tables_is_refused() -> None:
    """A request that wants the two in the other order would end as a deadlock."""
    migration = made_of(
        migrations.AddField("accesstoken", "note", models.TextField(null=True)),
        migrations.AddField("refreshtoken", "note", models.TextField(null=True)),
    )
    assert list(refusals(migration, before(), frozenset()))


def test_a_contracting_migration_says_so() -> None:
    migration = made_of(migrations.RemoveField("project", "name"))
    migration.contract = "nothing has read it since 2.0"  # type: ignore[attr-defined]
    assert not list(refusals(migration, before(), frozenset()))


def made_of(*operations: Operation) -> migrations.Migration:
    made: Any = migrations.Migration("9999_made_here", "oidc")
    made.operations = list(operations)
    return made  # type: ignore[no-any-return]


def before() -> Any:
    loader = MigrationLoader(None)
    return loader.project_state(("oidc", max(name for app, name in loader.graph.nodes if app == "oidc")))
