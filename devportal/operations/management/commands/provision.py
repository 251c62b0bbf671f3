"""`manage.py provision FILE`: create or update what a TOML file declares."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from devportal.operations.provisioning import InvalidFile, provision


class Command(BaseCommand):
    """Apply a file in one transaction. It is idempotent, and an invalid file changes nothing (docs/provisioning.md)."""

    help = "Create or update people, projects and clients from a TOML file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
        parser.add_argument("--rotate-secrets", action="store_true", help="give every declared web client a new secret")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            result = provision(options["file"], rotate_secrets=options["rotate_secrets"])
        except InvalidFile as error:
            raise CommandError(f"{options['file']}: {error}") from error
        if options["json"]:
            self.stdout.write(json.dumps(result, ensure_ascii=False))
            return
        clients = sum(len(project["clients"]) for project in result["projects"])
        self.stdout.write(
            f"{len(result['people'])} people, {len(result['projects'])} projects and {clients} clients are in place."
        )
