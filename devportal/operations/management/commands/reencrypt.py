"""`manage.py reencrypt`: encrypt everything with the current KEY_ENCRYPTION_KEY."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.audit import Event, report
from core.database import encryption
from oidc.models import SigningKey
from oidc.tokens.signing_keys import is_readable


class Command(BaseCommand):
    """One step of a key rotation (docs/secrets.md#rotating-key_encryption_key). It is safe to repeat and under load."""

    help = "Encrypt everything that KEY_ENCRYPTION_KEY_FALLBACKS encrypted with KEY_ENCRYPTION_KEY."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="change nothing, and exit with code 1 as long as a fallback is needed"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        work = encryption.count_rows if options["check"] else encryption.reencrypt_column
        counts = {column.name: work(column) for column in encryption.registered()}
        for name, count in counts.items():
            self.stdout.write(
                f"{name}: {count.current} with the present key ({count.renewed} re-encrypted now), "
                f"{count.needing_fallback} need a fallback, {len(count.unreadable)} can't be read"
                + (f" (ids {', '.join(map(str, count.unreadable[:10]))} …)" if count.unreadable else "")
            )
        if renewed := {name: count.renewed for name, count in counts.items() if count.renewed}:
            report(Event("encryption_key.rotated", details={"reencrypted": renewed}))
        if any(count.unreadable for count in counts.values()):
            self.stdout.write("No key can decrypt these values. See docs/secrets.md, The encryption key is lost.")
        live = SigningKey.objects.exclude(state=SigningKey.State.RETIRED)
        # The hourly rotation replaces damaged signing keys, so this one's encryption key is missing in this process.
        if not all(map(is_readable, live)):
            raise CommandError(
                "A signing key that is in use can't be decrypted, because the key that encrypted it is missing in "
                "KEY_ENCRYPTION_KEY_FALLBACKS. Add it there. If it is lost, see docs/secrets.md, The encryption key is "
                "lost."
            )
        if any(count.needing_fallback for count in counts.values()):
            raise CommandError("KEY_ENCRYPTION_KEY_FALLBACKS is still needed. Run manage.py reencrypt.")
        self.stdout.write("KEY_ENCRYPTION_KEY_FALLBACKS is no longer needed.")
