"""Passwords of sign-ups: the one of someone who could not create a passkey, and the one that a stranger chose."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.fields import PasswordField
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django import forms
from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import password_validators_help_text_html
from django.db import transaction
from django.http import HttpRequest

from accounts.activity.recording import record
from accounts.factors.sign_up_stage import SignUpKeyStage
from accounts.models import Account
from accounts.sessions.authentication import note_first_password
from accounts.sessions.browser_sessions import RESETTING, is_current


class FirstPasswordForm(forms.Form):
    """A password instead of a passkey."""

    def __init__(self, account: Account, data: object = None) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self.account = account
        help_text = password_validators_help_text_html()
        self.fields["password1"] = PasswordField(label="Password", autocomplete="new-password", help_text=help_text)

    def clean_password1(self) -> Any:
        return get_adapter().clean_password(self.cleaned_data["password1"], user=self.account)


def set_first_password(request: HttpRequest, stage: SignUpKeyStage, password: str) -> bool:
    """Store the password of a sign-up whose email address was just verified; False if the account has changed since.

    No email is sent about it, just as none is sent about a passkey that is created at sign-up.
    """
    hashed = make_password(password)  # before the transaction, because it takes long
    account = stage.login.user
    with transaction.atomic():
        row = stage.lock_account()
        if row is None or row.has_usable_password() or _has_factor(row):
            return False
        account.password = hashed
        account.save(update_fields=["password"])
        record(account, "password_set", request, notify=False)
    note_first_password(None, request, account)
    return True


def _has_factor(account: Account) -> bool:
    return bool(Authenticator.objects.filter(user=account).exists())


def lock_for_reset(request: HttpRequest, pk: int, email: str) -> bool:
    """Lock the account whose email address a password reset is about to verify; return False if the reset has ended.

    An account that nobody verified also loses its password: anyone can sign up with an email address, and the password
    of a sign-up counts once the address is verified. So it ends now, and not when the person has chosen another one.
    Call it in the transaction that verifies the address.
    """
    account = Account.objects.select_for_update(no_key=True).filter(pk=pk).first()
    if account is None or not is_current(request.session.get(RESETTING, ""), account):
        return False
    if EmailAddress.objects.filter(user=account, email=email, verified=False).exists():
        account.set_unusable_password()
        account.save(update_fields=["password"])
        request.session[RESETTING] = account.get_session_auth_hash()
    return True
