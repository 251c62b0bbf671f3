"""Signing up once more with an address that is not proven yet.

Whoever types the code from the mail has the mailbox, and theirs is the account. So what a second sign-up says (password
and name) waits in its browser's session, and replaces what the first one said once the code was right. Until then
neither disturbs the other, and to strangers it looks and takes the same as for any address.
"""

from typing import Any

from django.http import HttpRequest

from accounts.models import Account

SESSION_KEY = "sign_up_again"


def find_unproven(email: str) -> Account | None:
    """Return the account that was made for an address which nobody has proven."""
    return Account.objects.filter(email=email.lower(), email_verified=False, is_active=True).first()


def keep(request: HttpRequest, account: Account, hashed_password: str, **names: str | None) -> None:
    """Keep the form's password and names until the code is typed. An unusable password means that a passkey follows."""
    request.session[SESSION_KEY] = {"account": account.pk, "password": hashed_password, "names": names}


def forget(request: HttpRequest) -> None:
    """Forget what an earlier form of this browser said."""
    request.session.pop(SESSION_KEY, None)


def apply(request: HttpRequest, account: Account) -> None:
    """Put what was kept on the account, whose address this browser has just proven; its row is locked."""
    kept: dict[str, Any] = request.session.pop(SESSION_KEY, {})
    if kept.get("account") != account.pk:
        return
    account.password = kept["password"]
    account.given_name, account.family_name = kept["names"]["given_name"], kept["names"]["family_name"]
    account.save(update_fields=["password", "given_name", "family_name"])
    request.signed_up_again = True  # type: ignore[attr-defined]  # for the adapter's `login`
