"""Signing up again with an email address that is not verified yet.

The person who enters the code from the mail has the mailbox, so the account is theirs. The password and name of a
second sign-up wait in its browser's session, and replace those of the first after the right code was entered. Until
then the two sign-ups do not affect each other, and strangers see no difference to any other email address.
"""

from typing import Any

from django.http import HttpRequest

from accounts.models import Account

SESSION_KEY = "sign_up_again"


def find_unproven(email: str) -> Account | None:
    """Return the account with this email address, if nobody has verified it."""
    return Account.objects.filter(email=email.lower(), email_verified=False, is_active=True).first()


def keep(request: HttpRequest, account: Account, hashed_password: str, **names: str | None) -> None:
    """Store the form's password and names until the code is entered. With a passkey, the password is unusable."""
    request.session[SESSION_KEY] = {"account": account.pk, "password": hashed_password, "names": names}


def forget(request: HttpRequest) -> None:
    """Delete the values of an earlier form of this browser."""
    request.session.pop(SESSION_KEY, None)


def apply(request: HttpRequest, account: Account) -> None:
    """Store the kept values in the account, whose email address was just verified here; its row is locked."""
    kept: dict[str, Any] = request.session.pop(SESSION_KEY, {})
    if kept.get("account") != account.pk:
        return
    account.password = kept["password"]
    account.given_name, account.family_name = kept["names"]["given_name"], kept["names"]["family_name"]
    account.save(update_fields=["password", "given_name", "family_name"])
    request.signed_up_again = True  # type: ignore[attr-defined]  # for the adapter's `login`
