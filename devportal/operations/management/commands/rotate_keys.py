"""`manage.py rotate_keys`: the next step of key rotation."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from devportal.operations.management.confirmed_command import ConfirmedCommand
from oidc.models import SigningKey
from oidc.tokens import signing_keys

SAID = {
    "published": "A next key is published. It signs once all clients have had time to fetch it.",
    "activated": "The next key signs now. The previous key stays published until all its tokens have expired.",
    "replaced": "The active key could not be read. It is retired, and a new one signs.",
    "waiting": "Nothing is due.",
}
UNREADABLE = (
    "Nothing was done: no signing key can be read. KEY_ENCRYPTION_KEY is not the one that they were encrypted with. "
    "If it is lost, see docs/secrets.md, The encryption key is lost."
)


class Command(ConfirmedCommand):
    """Do what the periodic task does, with --now even before it is due (docs/secrets.md, "A key has leaked")."""

    help = "Publish the next signing key or let it sign, depending on which step is due."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--now", action="store_true", help="do not wait until the step is due")
        parser.add_argument(
            "--withdraw", action="store_true", help="take all retired keys out of publication, after a leak (asks)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["withdraw"]:
            self._withdraw(options)
            return
        if options["dry_run"]:
            raise CommandError("--dry-run goes with --withdraw.")
        step = signing_keys.rotate(now=options["now"])
        if step == "unreadable":
            raise CommandError(UNREADABLE)
        self.stdout.write(SAID[step])

    def _withdraw(self, options: dict[str, Any]) -> None:
        retired = SigningKey.objects.filter(state=SigningKey.State.RETIRED, withdrawn_at=None)
        kids = " ".join(retired.values_list("kid", flat=True)) or "none"
        if self.is_confirmed(options, f"Tokens of these keys are refused from then on: {kids}"):
            self.stdout.write(f"Withdrawn: {' '.join(signing_keys.withdraw_retired_keys()) or 'none'}")
