"""`manage.py rotate_keys`: the next step of key rotation."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from oidc.signing_keys import rotation

SAID = {
    "published": "A next key is published; it signs once every client may have seen it.",
    "activated": "The next key signs now; the one before it stays published until nothing it signed is valid.",
    "waiting": "Nothing is due.",
}


class Command(BaseCommand):
    """What the periodic task does by itself; with --now at once (docs/operations.md, "A key has leaked")."""

    help = "Publish the next signing key, or let it sign, whichever is due."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--now", action="store_true", help="do not wait until the step is due")

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(SAID[rotation.rotate(now=options["now"])])
