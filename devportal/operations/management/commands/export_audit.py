"""`manage.py export_audit`: the security events of a day as lines of the audit log."""

import os
from argparse import ArgumentParser
from datetime import date
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from devportal.operations.audit_lines import lines_of_day


class Command(BaseCommand):
    """The command for what was not shipped, and to compare it (docs/audit-log.md#export)."""

    help = "Write the security events of a day (UTC) that are in the database, as lines of the audit log."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("day", metavar="DAY", help="the day in UTC, as in 2026-01-31")
        parser.add_argument("--to", metavar="FILE", help="a new file; without it, standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            lines = lines_of_day(date.fromisoformat(options["day"]))
        except (ValueError, OverflowError) as error:
            raise CommandError(f"{options['day']!r} is not a day like 2026-01-31.") from error
        if not options["to"]:
            for line in lines:
                self.stdout.write(line.as_json())
            return
        try:
            descriptor = os.open(options["to"], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise CommandError(f"{options['to']} can't be created: {error.strerror}.") from error
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.writelines(f"{line.as_json()}\n" for line in lines)
