"""`manage.py backup`: back up the database and uploaded files, or restore a backup."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from devportal.operations import backups


class Command(BaseCommand):
    help = "Back up the database and uploaded files into DATA_DIR/backups, and test that the backup can be restored."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--keep", type=int, default=7, help="number of backups to keep (default: 7)")
        parser.add_argument("--restore", metavar="FOLDER", type=Path, help="restore a backup into an empty database")

    def handle(self, *args: Any, **options: Any) -> None:
        if connection.vendor != "postgresql":
            raise CommandError("Stop the service and copy DATA_DIR. This command is only for PostgreSQL.")
        if options["keep"] < 1:
            raise CommandError("Keep at least one backup.")
        if options["restore"]:
            backups.restore(options["restore"])
        else:
            self.stdout.write(f"{backups.back_up(options['keep'])} was created and restored as a test.")
