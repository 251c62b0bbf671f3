"""Management commands that can't be undone: they count what they would change, and ask for confirmation."""

import sys
from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class ConfirmedCommand(BaseCommand):
    """A command with `--dry-run`, which only counts, and `--yes`, which skips the question."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="show what would be done, and change nothing")
        parser.add_argument("--yes", action="store_true", help="do not ask for confirmation, for scripts")

    def is_confirmed(self, options: dict[str, Any], warning: str) -> bool:
        """Print `warning`, and return whether to go on. Raises CommandError if there is no terminal to ask on."""
        self.stdout.write(warning)
        if options["dry_run"]:
            self.stdout.write("Nothing was changed: this was a dry run.")
            return False
        if options["yes"]:
            return True
        if not sys.stdin.isatty():
            raise CommandError("Nothing was changed. Add --yes to run this without a confirmation.")
        if input("This can't be undone. Type yes to continue: ").strip() == "yes":
            return True
        self.stdout.write("Nothing was changed.")
        return False


def parse_moment(text: str | None) -> datetime | None:
    """Return an ISO 8601 time, in UTC if it has no offset; None for None. Raises CommandError."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise CommandError(f"{text!r} is not a time like 2026-01-31T14:30:00Z.") from error
