"""The sign-in log is parted by day on PostgreSQL; its model stays as it is."""

from typing import Any

from django.db import migrations

from devportal.lib.partition_conversion import partition_by_day
from devportal.lib.partitions import DailyTable


def part_table(apps: Any, schema_editor: Any) -> None:
    partition_by_day(schema_editor.connection, DailyTable("console_signinevent", "at"))


class Migration(migrations.Migration):
    # Indexes are built beside readers and writers; each step can be repeated.
    atomic = False

    dependencies = [("console", "0007_idempotency_tokens")]

    # Earlier versions work on the parted table as well, so going back leaves it as it is.
    operations = [migrations.RunPython(part_table, migrations.RunPython.noop)]
