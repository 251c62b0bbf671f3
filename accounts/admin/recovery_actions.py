"""Actions on the admin's page of a person: removing second factors after a time of waiting, and calling it off."""

from datetime import datetime
from typing import Any

from django import forms
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from accounts.admin.rights import ask_anew, is_somebody_else
from accounts.factors import recovery
from accounts.models import Account
from devportal.lib import clock
from devportal.lib.admin.actions import MAX_TEXT_LENGTH, ActionRefused, ReasonForm, RowAction


class RecoveryForm(ReasonForm):
    """Why, and how the operator made sure that it is the owner who asks."""

    checked = forms.CharField(
        label="What was checked",
        max_length=MAX_TEXT_LENGTH,
        widget=UnfoldAdminTextareaWidget({"rows": 3}),
        help_text="How you made sure that the owner of the account asks. Kept in the audit trail.",
    )
    new_email = forms.EmailField(
        label="New address",
        required=False,
        max_length=254,
        widget=UnfoldAdminEmailInputWidget({"autocomplete": "off"}),
        help_text="Only if the mailbox is lost too. It replaces the account's addresses in the end; the person proves "
        "it by a code. Every former address is told.",
    )

    taken_over_at = forms.DateTimeField(
        label="Taken over at (UTC)",
        required=False,
        widget=UnfoldAdminTextInputWidget({"placeholder": "2030-05-17 09:41", "autocomplete": "off"}),
        help_text="Only if somebody else took the account over: when that began, and rather too early than too late. "
        "Sessions, factors and email addresses from after that moment can't stop the recovery, and only they are "
        "removed. Leave it empty if the owner lost what they sign in with.",
    )

    def clean_taken_over_at(self) -> datetime | None:
        moment: datetime | None = self.cleaned_data["taken_over_at"]
        if moment and not self.row.created_at < moment < clock.now():
            raise forms.ValidationError("Give a moment in the past, after the account was created.")
        return moment


def _start(request: HttpRequest, account: Account, form: Any) -> str:
    operator = ask_anew(request, account)
    try:
        started = recovery.start(account, operator, **form.cleaned_data)
    except recovery.RecoveryRefused as refusal:
        raise ActionRefused(str(refusal)) from refusal
    return f"Started. The person has been told, and it will be done on {started.due_at:%-d %b %Y, %H:%M} UTC."


def _cancel(request: HttpRequest, account: Account, form: Any) -> str:
    operator = ask_anew(request, account)
    found = recovery.open_recovery(account)
    if found is None or not recovery.cancel(found, operator, form.cleaned_data["reason"]):
        raise ActionRefused("There is nothing left to cancel.")
    return "Cancelled. The passkeys, authenticator app and recovery codes stay, and the person was notified."


def _may_start(request: HttpRequest, account: Account) -> bool:
    return account.is_active and is_somebody_else(request, account) and recovery.open_recovery(account) is None


def _consequence(account: Account) -> str:
    return (
        f"In {recovery.hours()} hours the person's passkeys, security keys, authenticator app and recovery codes are "
        "removed, their password no longer works, and they are signed out everywhere; they sign in again with a code "
        "to their email address. If the account was taken over, only what was added since then is removed. Until then "
        "nothing changes. They are told at once at every email address. Anyone who reads that mail or is signed in can "
        "stop it; after a takeover, only with a session, factor or email address from before it."
    )


ACTIONS = (
    RowAction(
        "remove-factors",
        "Remove second factors",
        _consequence,
        _start,
        form=RecoveryForm,
        is_open=_may_start,
        icon="lock_reset",
        is_dangerous=True,
    ),
    RowAction(
        "cancel-recovery",
        "Call off the recovery",
        "The person's second factors stay. They are told, at every address.",
        _cancel,
        form=ReasonForm,
        is_open=lambda request, account: recovery.open_recovery(account) is not None,
        icon="undo",
    ),
)
