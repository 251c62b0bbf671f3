"""The request log and the counts by minute are partitioned by day on PostgreSQL; their models do not change."""

from typing import Any

from django.db import migrations

from core.database.partitions import DailyTable, partition_by_day


def partition(apps: Any, schema_editor: Any) -> None:
    partition_by_day(schema_editor.connection, DailyTable("api_requestlog", "at"))
    partition_by_day(schema_editor.connection, DailyTable("api_usagebucket", "minute"))


class Migration(migrations.Migration):
    dependencies = [("api", "0001_baseline")]

    operations = [migrations.RunPython(partition, migrations.RunPython.noop)]
