"""The request log and the counts by minute are parted by day on PostgreSQL; their models stay as they are."""

from typing import Any

from django.db import migrations

from devportal.lib.partition_conversion import partition_by_day
from devportal.lib.partitions import DailyTable


def part_tables(apps: Any, schema_editor: Any) -> None:
    for daily in (DailyTable("api_requestlog", "at"), DailyTable("api_usagebucket", "minute")):
        partition_by_day(schema_editor.connection, daily)


class Migration(migrations.Migration):
    # Indexes are built beside readers and writers; each step can be repeated.
    atomic = False

    dependencies = [("api", "0004_keys_of_closed_accounts")]

    # Earlier versions work on the parted tables as well, so going back leaves them as they are.
    operations = [migrations.RunPython(part_tables, migrations.RunPython.noop)]
