"""Factors whose secrets can no longer be read, because their encryption key is lost.

django-allauth stores them (`Authenticator`): the secret of an authenticator app and the seed of recovery codes, both
encrypted with KEY_ENCRYPTION_KEY. Passkeys only have public keys, and stay.
"""

from allauth.mfa.models import Authenticator
from django.db import transaction

from accounts.activity.recording import By, record
from accounts.mail import outbox
from accounts.models import Account
from accounts.sessions import end_all_sessions
from core.database.encryption import EncryptedColumn

# Everything that allauth encrypts in `data`: secrets of authenticator apps, recovery codes, and migrated codes.
COLUMN = EncryptedColumn(Authenticator, "data", ("secret", "seed", "migrated_codes"))
Type = Authenticator.Type


def people_with_unreadable_factors() -> list[int]:
    """Return the keys of the accounts that have a factor which can't be read."""
    lost = list(COLUMN.unreadable())
    found: set[int] = set()
    for start in range(0, len(lost), 1000):
        found |= set(Authenticator.objects.filter(pk__in=lost[start : start + 1000]).values_list("user_id", flat=True))
    return sorted(found)


@transaction.atomic
def remove_unreadable_factors(account_pk: int) -> bool:
    """Remove a person's unreadable factors and notify them by mail; return whether their password ended too.

    Without any second factor, the account would be protected by less than its owner chose. So the password is removed,
    and all sessions end: the person signs in with a code sent to their email address, and chooses a new password. If a
    passkey is left, protection is not weaker, and nothing else changes.
    """
    account = Account.objects.select_for_update(no_key=True).get(pk=account_pk)
    rows = list(Authenticator.objects.select_for_update().filter(user=account))
    lost = [row for row in rows if not COLUMN.is_readable(row.data)]
    if not lost:
        return False
    left = {row.type for row in rows if row not in lost}
    had_app = any(row.type == Type.TOTP for row in lost)
    Authenticator.objects.filter(pk__in=[row.pk for row in lost]).delete()
    if not left - {Type.RECOVERY_CODES}:
        Authenticator.objects.filter(user=account).delete()  # recovery codes alone are of no use
    ends_password = had_app and not left - {Type.RECOVERY_CODES}
    if ends_password:
        account.set_unusable_password()
        Account.objects.filter(pk=account.pk).update(password=account.password)
        end_all_sessions(account)
    # A separate mail explains more than a notice: what else ended, and how to go on.
    record(account, "second_factors_lost", by=By.SERVICE, tells=False)
    if account.is_active:
        outbox.queue_mail(account.email, "second_factor_lost", {"had_app": had_app, "ends_password": ends_password})
    return ends_password
