"""`manage.py provision FILE`: create or update what a TOML file declares."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from devportal.operations.provisioning import InvalidFile, provision

DELETED = (
    "An owner has deleted the project {name}, so its apps and API keys do not work. If an owner restores it in the "
    "console, run this command again to create secrets and keys."
)


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
        deleted = [project for project in result["projects"] if "deleted" in project]
        if options["dry_run"]:
            declared = _counted(result, result["projects"])
            self.stdout.write(f"The file is valid. It declares {declared}. Nothing was changed.")
        else:
            in_place = _counted(result, [project for project in result["projects"] if project not in deleted])
            self.stdout.write(f"{in_place} are in place.")
        for project in deleted:
            self.stdout.write(DELETED.format(name=project["name"]))


def _counted(result: dict[str, Any], projects: list[dict[str, Any]]) -> str:
    clients = sum(len(project["clients"]) for project in projects)
    return f"{len(result['people'])} people, {len(projects)} projects, {clients} clients and {len(result['apis'])} APIs"
