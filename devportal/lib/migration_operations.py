"""Operations of migrations that leave a table to its readers and writers (docs/upgrades.md#expand-and-contract)."""

from typing import Any

from django.db import migrations

from devportal.lib.table_locks import patient


class AddIndexConcurrently(migrations.AddIndex):
    """AddIndex, on PostgreSQL without a lock against writers. Its migration has `atomic = False`.

    Unlike the operation of django.contrib.postgres it works on other engines, and can be repeated: what a broken-off
    attempt has left is removed first.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        with schema_editor.connection.cursor() as cursor, patient(cursor):
            cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [self.index.name])
            found = cursor.fetchone()
            if found and not found[0]:
                cursor.execute(f"DROP INDEX CONCURRENTLY {schema_editor.quote_name(self.index.name)}")
            if not found or not found[0]:
                schema_editor.add_index(model, self.index, concurrently=True)


class DropForeignKeyIndex(migrations.AlterField):
    """AlterField to a foreign key with `db_index=False`, on PostgreSQL by dropping the index alone.

    Django's would drop the foreign key and make it anew, which locks the table that it refers to against readers.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = from_state.apps.get_model(app_label, self.model_name)
        field = to_state.apps.get_model(app_label, self.model_name)._meta.get_field(self.name)
        if schema_editor.connection.vendor != "postgresql" or field.db_index:
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        with schema_editor.connection.cursor() as cursor:
            known = schema_editor.connection.introspection.get_constraints(cursor, model._meta.db_table)
        for name, of in known.items():
            if of["columns"] == [field.column] and of["index"] and not of["unique"]:
                schema_editor.execute(f"DROP INDEX {schema_editor.quote_name(name)}")
