"""The form of a lost password, for people who closed their account and want it back too."""

from allauth.account import forms as allauth_forms
from allauth.account.adapter import get_adapter
from allauth.account.internal.userkit import filter_users_by_email


class ResetPasswordForm(allauth_forms.ResetPasswordForm):  # type: ignore[misc]  # allauth is untyped
    """The library's, which takes no account that is not active; one that is to be deleted can still be kept."""

    def clean_email(self) -> str:
        email: str = get_adapter().clean_email(self.cleaned_data["email"].lower())
        found = filter_users_by_email(email, prefer_verified=True, for_login=True)
        self.users = [account for account in found if account.is_active or account.deletion_due_at is not None]
        return email
