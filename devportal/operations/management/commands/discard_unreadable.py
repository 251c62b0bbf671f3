"""`manage.py discard_unreadable`: discard unreadable data after KEY_ENCRYPTION_KEY was lost."""

from typing import Any

from accounts.sessions import keys as second_factors
from core.audit import Event, report
from core.database import encryption
from devportal.operations.management.confirmed_command import ConfirmedCommand
from oidc.models import SigningKey
from oidc.tokens import signing_keys

WARNING = """\
{keys} signing key(s) can't be read. They are retired, and a new key signs immediately.
{people} people have a second factor that can't be read. It is removed, and each of them is emailed. The ones who have
no passkey also lose their password and all sessions, and sign in with a code that is mailed to them.
If KEY_ENCRYPTION_KEY is only set to a wrong value, stop here and correct it. Then nothing is lost."""


class Command(ConfirmedCommand):
    """The command for a lost key (docs/secrets.md#the-encryption-key-is-lost). It is safe to repeat."""

    help = "Remove what KEY_ENCRYPTION_KEY and its fallbacks can't read, and make a new signing key."

    def handle(self, *args: Any, **options: Any) -> None:
        keys = SigningKey.objects.exclude(state=SigningKey.State.RETIRED)
        unreadable = [row.kid for row in keys if not encryption.is_readable(row.private_encrypted)]
        people = second_factors.people_with_unreadable_factors()
        if not unreadable and not people:
            self.stdout.write("Everything is readable.")
            return
        if not self.is_confirmed(options, WARNING.format(keys=len(unreadable), people=len(people))):
            return
        retired = signing_keys.replace_unreadable_keys()
        without_password = sum(second_factors.remove_unreadable_factors(pk) for pk in people)
        done = {"signing_keys": retired, "people": len(people), "passwords_ended": without_password}
        report(Event("encryption_key.lost", details=done))
        self.stdout.write(
            f"{len(retired)} signing key(s) were retired. The second factors of {len(people)} people were removed; "
            f"{without_password} of them sign in with a mailed code."
        )
