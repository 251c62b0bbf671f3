"""Admin actions of operators for the security of a person's account. The person is notified of each."""

from datetime import datetime
from typing import Any

from allauth.account.models import EmailAddress
from django import forms
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from accounts.activity.recording import By, record
from accounts.factors import recovery
from accounts.mail import outbox
from accounts.mail.recipient_limit import RecipientLimitReached, count_mail
from accounts.models import Account
from accounts.roles import may_administer
from accounts.sessions import end_all_sessions
from core import clock
from core.admin.actions import MAX_TEXT_LENGTH, ActionRefused, ReasonForm, RowAction
from core.audit import Event, report


def target_of(account: Account) -> str:
    """Return the audit target of a person: their key, so that no email address is left after account deletion."""
    return f"account:{account.pk}"


def check_again(request: HttpRequest, account: Account) -> Account:
    """Lock operator and account, in the order of their keys, and check permission again; return the operator.

    Raises ActionRefused.
    """
    people = Account.objects.select_for_update(no_key=True).filter(pk__in={request.user.pk, account.pk})
    now = {row.pk: row for row in people.order_by("pk")}
    actor, row = now.get(request.user.pk or 0), now.get(account.pk)
    if actor is None or row is None or not actor.is_active or not actor.is_staff or not may_administer(actor, row):
        raise ActionRefused("This has changed in the meantime. The page shows the current state.")
    return actor


def is_somebody_else(request: HttpRequest, account: Account) -> bool:
    """Return whether the account is not the operator's own: operators must not lock themselves out."""
    return account.pk != request.user.pk


def tell(account: Account, kind: str, *, tells: bool = True, **details: Any) -> None:
    """Record an operator's action. The person gets a mail if their email address is verified."""
    record(account, kind, by=By.OPERATOR, tells=tells and account.email_verified, **details)


# Operators never see what a person does, and never get a code or a link that opens the account. Signing out ends
# sessions; a reset asks the person, who confirms their email address as usual (docs/accounts.md#what-operators-can-do).


def _report(action: str, request: HttpRequest, account: Account, form: Any) -> None:
    details = {"reason": form.cleaned_data["reason"]}
    report(Event(action, request.user.pk, target=target_of(account), details=details))


def sign_out(request: HttpRequest, account: Account, form: Any) -> str:
    """End all sessions of a person."""
    check_again(request, account)
    end_all_sessions(account)
    _report("account.signed_out", request, account, form)
    tell(account, "signed_out")
    return "They have been signed out everywhere, and notified by email."


def send_reset(request: HttpRequest, account: Account, form: Any) -> str:
    """Mail a person a link to the page for forgotten passwords. Raises ActionRefused."""
    check_again(request, account)
    if not EmailAddress.objects.filter(user=account, email=account.email, verified=True).exists():
        raise ActionRefused("Nothing was sent: the person has not confirmed this email address.")
    try:
        count_mail(account.email)
    except RecipientLimitReached as reached:
        raise ActionRefused(
            "Nothing was sent: several mails were sent to this email address today. Try again tomorrow."
        ) from reached
    outbox.queue_mail(account.email, "reset_asked", {"email": account.email})
    _report("account.reset_sent", request, account, form)
    tell(account, "reset_sent")
    return "The person got a mail that asks them to choose a new password. The old password works until they do."


SIGN_OUT = RowAction(
    "sign-out",
    "Sign out everywhere",
    "Every browser in which they are signed in is signed out immediately. They can sign in again as before, and apps "
    "keep their access; to end that too, deactivate the account. A mail tells them that operators did this.",
    sign_out,
    form=ReasonForm,
    is_open=lambda request, row: row.is_active,
    icon="logout",
)
SEND_RESET = RowAction(
    "send-reset",
    "Send a reset",
    "A mail asks them to choose a new password. It links to the page for forgotten passwords, which sends them a code "
    "as usual. Neither the mail nor this page contains anything that opens the account, and the old password works "
    "until they have chosen a new one.",
    send_reset,
    form=ReasonForm,
    is_open=lambda request, row: row.is_active,
    icon="lock_reset",
)


class RecoveryForm(ReasonForm):
    """The reason for a recovery, and how the operator checked that the owner asked for it."""

    checked = forms.CharField(
        label="What was checked",
        max_length=MAX_TEXT_LENGTH,
        widget=UnfoldAdminTextareaWidget({"rows": 3}),
        help_text="How you checked that the owner of the account asked for this. It is kept in the audit trail.",
    )
    new_email = forms.EmailField(
        label="New email address",
        required=False,
        max_length=254,
        widget=UnfoldAdminEmailInputWidget({"autocomplete": "off"}),
        help_text="Only if they lost their mailbox too. It replaces the account's email addresses at the end; the "
        "person confirms it with a code. Every former email address is notified.",
    )

    taken_over_at = forms.DateTimeField(
        label="Taken over at (UTC)",
        required=False,
        widget=UnfoldAdminTextInputWidget({"placeholder": "2030-05-17 09:41", "autocomplete": "off"}),
        help_text="Only if somebody else took over the account: when that began. If you are not sure, enter an earlier "
        "time. Sessions, factors and email addresses from after that time can't stop the recovery, and only they are "
        "removed. Leave it empty if the owner lost their passkey, app or codes.",
    )

    def clean_taken_over_at(self) -> datetime | None:
        moment: datetime | None = self.cleaned_data["taken_over_at"]
        if moment and not self.row.created_at < moment < clock.now():
            raise forms.ValidationError("Enter a time in the past, after the account was created.")
        return moment


def _start(request: HttpRequest, account: Account, form: Any) -> str:
    operator = check_again(request, account)
    try:
        started = recovery.start(account, operator, **form.cleaned_data)
    except recovery.RecoveryRefused as refusal:
        raise ActionRefused(str(refusal)) from refusal
    return f"Started. The person was notified. It will be completed on {started.due_at:%-d %b %Y, %H:%M} UTC."


def _cancel(request: HttpRequest, account: Account, form: Any) -> str:
    operator = check_again(request, account)
    found = recovery.open_recovery(account)
    if found is None or not recovery.cancel(found, operator, form.cleaned_data["reason"]):
        raise ActionRefused("There is no recovery to cancel.")
    return "Cancelled. The passkeys, authenticator app and recovery codes stay, and the person was notified."


def _may_start(request: HttpRequest, account: Account) -> bool:
    return account.is_active and is_somebody_else(request, account) and recovery.open_recovery(account) is None


def _consequence(account: Account) -> str:
    return (
        f"In {recovery.hours()} hours the person's passkeys, security keys, authenticator app and recovery codes are "
        "removed, their password no longer works, and they are signed out everywhere; they sign in again with a code "
        "to their email address. If the account was taken over, only what was added since then is removed. Until then "
        "nothing changes. They are notified immediately at every email address. Anyone who reads that mail or is "
        "signed in can stop it; after a takeover, only with a session, factor or email address from before it."
    )


ACTIONS = (
    RowAction(
        "remove-factors",
        "Start recovery",
        _consequence,
        _start,
        form=RecoveryForm,
        is_open=_may_start,
        icon="lock_reset",
        is_dangerous=True,
    ),
    RowAction(
        "cancel-recovery",
        "Cancel the recovery",
        "The person's passkeys, authenticator app and recovery codes are kept. Every email address is notified.",
        _cancel,
        form=ReasonForm,
        is_open=lambda request, account: recovery.open_recovery(account) is not None,
        icon="undo",
    ),
)
