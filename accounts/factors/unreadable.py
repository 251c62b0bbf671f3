"""Second factors whose secrets can't be read any more, because the encryption key they need is lost.

django-allauth keeps them (`Authenticator`): the secret of an authenticator app and the seed of recovery codes, both
encrypted with KEY_ENCRYPTION_KEY. Passkeys have public keys alone, and stay.
"""

from allauth.mfa.models import Authenticator
from django.db import transaction

from accounts.activity.recording import By, record
from accounts.mail import outbox
from accounts.models import Account
from accounts.sessions import end_all_sessions
from core.database.encryption import EncryptedColumn

# Whatever allauth encrypts in `data`: of an authenticator app, of recovery codes, and of codes from another system.
COLUMN = EncryptedColumn(Authenticator, "data", ("secret", "seed", "migrated_codes"))
Type = Authenticator.Type


def people_with_unreadable_factors() -> list[int]:
    """Return the keys of the accounts that have a second factor which can't be read."""
    lost = list(COLUMN.unreadable())
    found: set[int] = set()
    for start in range(0, len(lost), 1000):
        found |= set(Authenticator.objects.filter(pk__in=lost[start : start + 1000]).values_list("user_id", flat=True))
    return sorted(found)


@transaction.atomic
def remove_unreadable_factors(account_pk: int) -> bool:
    """Remove a person's unreadable second factors and tell them by mail; return whether their password ended with it.

    Who has no second factor left would be protected by less than they chose. So their password ends, and their sessions
    with it: they sign in by a code that goes to their address, and choose a new password. With a passkey left, nothing
    is weaker, and nothing else changes.
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
        Authenticator.objects.filter(user=account).delete()  # recovery codes alone open nothing
    ends_password = had_app and not left - {Type.RECOVERY_CODES}
    if ends_password:
        account.set_unusable_password()
        Account.objects.filter(pk=account.pk).update(password=account.password)
        end_all_sessions(account)
    # The mail says more than a notice would: what ended with them, and how to go on.
    record(account, "second_factors_lost", by=By.SERVICE, tells=False)
    if account.is_active:
        outbox.queue_mail(account.email, "second_factor_lost", {"had_app": had_app, "ends_password": ends_password})
    return ends_password
