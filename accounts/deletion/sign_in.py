"""Signing in to an account that its owner has closed: the page to keep it, and the password reset form."""

from datetime import datetime
from typing import Any

from allauth.account import forms as allauth_forms
from allauth.account.adapter import get_adapter
from allauth.account.internal.userkit import filter_users_by_email
from allauth.account.stages import LoginStage, LoginStageController
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.deletion import closing
from accounts.models import Account


class ClosedAccountStage(LoginStage):  # type: ignore[misc]  # allauth is untyped
    """Holds a sign-in to an account that is going to be deleted."""

    key = "closed_account"
    urlname = "account_closed"

    def handle(self) -> tuple[HttpResponse | None, bool]:
        account = self.login.user
        if account is None or account.is_active:
            return None, True
        if account.deletion_due_at is None:  # deactivated since the sign-in began
            return HttpResponseRedirect(reverse("account_inactive")), False
        self.state["stamp"] = account.get_session_auth_hash()
        return HttpResponseRedirect(reverse("account_closed")), True


def held_sign_in(request: HttpRequest) -> Any:
    """Return the stage that holds this browser's sign-in, None if there is none."""
    return LoginStageController.enter(request, ClosedAccountStage.key)


def keep_and_sign_in(stage: Any, request: HttpRequest) -> HttpResponse:
    """Keep the account of a held sign-in, and finish it. Raises closing.Gone, closing.Outdated."""
    stage.login.user = closing.keep(stage.login.user.pk, request, stamp=stage.state["stamp"])
    response: HttpResponse = stage.exit()
    return response


def deletion_due_at(email: str) -> datetime | None:
    """Return when the account with this email address is deleted, None if it is not closed."""
    found = Account.objects.filter(emailaddress__email__iexact=email).exclude(deletion_due_at=None)
    return found.values_list("deletion_due_at", flat=True).first()


class ResetPasswordForm(allauth_forms.ResetPasswordForm):  # type: ignore[misc]  # allauth is untyped
    """The library's form, which ignores inactive accounts, extended to closed ones, which can still be kept."""

    def clean_email(self) -> str:
        email: str = get_adapter().clean_email(self.cleaned_data["email"].lower())
        found = filter_users_by_email(email, prefer_verified=True, for_login=True)
        self.users = [account for account in found if account.is_active or account.deletion_due_at is not None]
        return email
