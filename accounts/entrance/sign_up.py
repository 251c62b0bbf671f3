"""Sign-up: the fields of the form, and what a second sign-up with an unverified email address keeps.

This is a separate module, because allauth imports it while it is still defining its forms.

The person who enters the code from the email has the mailbox, so the account is theirs. The password and name of a
second sign-up wait in its browser's session, and replace those of the first after the right code was entered. Until
then the two sign-ups do not affect each other, and strangers see no difference to any other email address.
"""

from typing import Any

from django import forms
from django.http import HttpRequest

from accounts.models import Account
from core.http.sessions import OF_A_SIGN_IN
from core.invisible import validate_visible


class NamesForm(forms.Form):
    """The person's name (ACCOUNT_SIGNUP_FORM_CLASS)."""

    given_name = forms.CharField(
        label="Given name",
        max_length=100,
        validators=[validate_visible],
        widget=forms.TextInput(attrs={"autocomplete": "given-name"}),
    )
    family_name = forms.CharField(
        label="Family name",
        max_length=100,
        validators=[validate_visible],
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "family-name"}),
    )

    field_order = ("email", "given_name", "family_name", "password1")

    def names(self) -> dict[str, str | None]:
        """Return the names as they are stored."""
        family_name = self.cleaned_data["family_name"].strip() or None
        return {"given_name": self.cleaned_data["given_name"].strip(), "family_name": family_name}

    def signup(self, request: HttpRequest, user: Account) -> None:
        """Store the names in the new account; allauth calls this after the account was saved."""
        names = self.names()
        user.given_name, user.family_name = names["given_name"] or "", names["family_name"]
        user.save(update_fields=["given_name", "family_name"])


SESSION_KEY = f"{OF_A_SIGN_IN}sign_up_again"


def find_unverified(email: str) -> Account | None:
    """Return the account with this email address, if nobody has verified it."""
    return Account.objects.filter(email=email, email_verified=False, is_active=True).first()


def keep_form(request: HttpRequest, account: Account, hashed_password: str, **names: str | None) -> None:
    """Store the form's password and names until the code is entered. With a passkey, the password is unusable."""
    request.session[SESSION_KEY] = {"account": account.pk, "password": hashed_password, "names": names}


def forget_form(request: HttpRequest) -> None:
    """Delete the values of an earlier form of this browser."""
    request.session.pop(SESSION_KEY, None)


def is_again(request: HttpRequest, account: Account) -> bool:
    """Return whether this browser has just signed up with the email address of this account, which existed before."""
    kept: dict[str, Any] = request.session.get(SESSION_KEY, {})
    return bool(kept.get("account") == account.pk)


def apply_kept_form(request: HttpRequest, account: Account) -> bool:
    """Store the kept values in the account, whose email address was just verified here; its row is locked.

    Return whether someone who signed in to the account before has a new password now.
    """
    kept: dict[str, Any] = request.session.pop(SESSION_KEY, {})
    if kept.get("account") != account.pk:
        return False
    request.signed_up_again = True  # type: ignore[attr-defined]  # for the adapter's `login`
    if account.email_verified:  # another click has stored them
        return False
    account.password = kept["password"]
    account.given_name, account.family_name = kept["names"]["given_name"], kept["names"]["family_name"]
    account.save(update_fields=["password", "given_name", "family_name"])
    return account.last_login is not None and account.has_usable_password()
