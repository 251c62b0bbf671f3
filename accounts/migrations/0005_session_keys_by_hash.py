"""Replaces the keys of the sessions that are there by their hashes; their cookies stay good."""

import base64
import hashlib
from typing import Any

from django.db import migrations, transaction

KEY_LENGTH = 32  # of a key as cookies hold it; a hash has 40 characters
BATCH = 2000


def _hash_of(key: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest()).decode()[:40]


def hash_keys(apps: Any, schema_editor: Any) -> None:
    connection = schema_editor.connection
    for model in (apps.get_model("sessions", "Session"), apps.get_model("usersessions", "UserSession")):
        table = connection.ops.quote_name(model._meta.db_table)
        keys = [key for key in model.objects.values_list("session_key", flat=True) if len(key) == KEY_LENGTH]
        for start in range(0, len(keys), BATCH):
            rows = [(_hash_of(key), key) for key in keys[start : start + BATCH]]
            # Each batch for itself: requests wait for the rows of one. What a broken-off run has left is found by its length.
            with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
                statement = f"UPDATE {table} SET session_key = %s WHERE session_key = %s"  # noqa: S608  (a model's own table)
                cursor.executemany(statement, rows)


def sign_everybody_out(apps: Any, schema_editor: Any) -> None:
    """No hash leads back to its key: older code would find none of the sessions."""
    apps.get_model("sessions", "Session").objects.all().delete()
    apps.get_model("usersessions", "UserSession").objects.all().delete()


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("accounts", "0004_account_session_stamp"),
        ("sessions", "0001_initial"),
        ("usersessions", "0001_initial"),
    ]

    operations = [migrations.RunPython(hash_keys, sign_everybody_out)]
