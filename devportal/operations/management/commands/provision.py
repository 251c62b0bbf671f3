"""`manage.py provision FILE`: create or update what a TOML file declares."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from devportal.operations.provisioning import InvalidFile, provision


class Command(BaseCommand):
    """Apply a file in one transaction. It is idempotent, and an invalid file changes nothing (docs/provisioning.md)."""

    help = "Create or update people, projects, clients and APIs from a TOML file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        output = parser.add_mutually_exclusive_group()
        output.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
        output.add_argument("--dry-run", action="store_true", help="check the file, and change nothing")
        parser.add_argument("--rotate-secrets", action="store_true", help="replace the secrets, keys and credentials")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            result = provision(options["file"], rotate_secrets=options["rotate_secrets"], dry_run=options["dry_run"])
        except InvalidFile as error:
            raise CommandError("\n".join(f"{options['file']}: {each}" for each in error.args)) from error
        if options["json"]:
            self.stdout.write(json.dumps(result, ensure_ascii=False))
            return
        clients = sum(len(project["clients"]) for project in result["projects"])
        counts = (len(result["people"]), len(result["projects"]), clients, len(result["apis"]))
        declared = "{} people, {} projects, {} clients and {} APIs".format(*counts)
        if options["dry_run"]:
            self.stdout.write(f"The file is valid. It declares {declared}. Nothing was changed.")
        else:
            self.stdout.write(f"{declared} are in place.")
