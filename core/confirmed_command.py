"""Management commands that can't be undone: they count first, and ask."""

import sys
from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class ConfirmedCommand(BaseCommand):
    """A command with `--dry-run`, which counts and changes nothing, and `--yes`, which asks nothing."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
        parser.add_argument("--yes", action="store_true", help="do not ask, for scripts")

    def is_confirmed(self, options: dict[str, Any], warning: str) -> bool:
        """Say what will be done, and return whether to do it. Raises CommandError where nobody can be asked."""
        self.stdout.write(warning)
        if options["dry_run"]:
            self.stdout.write("Nothing was changed: this was a dry run.")
            return False
        if options["yes"]:
            return True
        if not sys.stdin.isatty():
            raise CommandError("Nothing was changed. Say --yes to do this without being asked.")
        if input("This can't be undone. Type yes to go on: ").strip() == "yes":
            return True
        self.stdout.write("Nothing was changed.")
        return False


def parse_moment(text: str | None) -> datetime | None:
    """Return a moment in ISO 8601, in UTC where it names no zone; None for None. Raises CommandError."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(f"{text!r} is no moment like 2026-01-31T14:30:00Z.") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
