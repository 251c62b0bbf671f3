"""The sign-in log is partitioned by day on PostgreSQL; its model does not change."""

from typing import Any

from django.db import migrations

from core.database.partitions import DailyTable, partition_by_day


def partition(apps: Any, schema_editor: Any) -> None:
    partition_by_day(schema_editor.connection, DailyTable("console_signinevent", "at"))


class Migration(migrations.Migration):
    dependencies = [("console", "0001_baseline")]

    operations = [migrations.RunPython(partition, migrations.RunPython.noop)]
