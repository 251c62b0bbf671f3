"""What operators do for the security of a person's account. The person sees each act, and is told by mail.

Operators neither see what a person does, nor get a code or a link that opens the account: signing out ends sessions,
and a reset asks the person, who proves their address as always (docs/accounts.md#what-operators-can-do).
"""

from typing import Any

from allauth.account.models import EmailAddress
from django.http import HttpRequest

from accounts.admin.rights import ask_anew, target_of, tell
from accounts.mail import outbox
from accounts.mail.recipient_limit import RecipientLimitReached, count_mail
from accounts.models import Account
from accounts.sessions import end_all_sessions
from devportal.lib.admin.actions import ActionRefused, ReasonForm, RowAction
from devportal.lib.audit import Event, report


def _report(action: str, request: HttpRequest, account: Account, form: Any) -> None:
    details = {"reason": form.cleaned_data["reason"]}
    report(Event(action, request.user.pk, target=target_of(account), details=details))


def sign_out(request: HttpRequest, account: Account, form: Any) -> str:
    """End all sessions of a person."""
    ask_anew(request, account)
    end_all_sessions(account)
    _report("account.signed_out", request, account, form)
    tell(account, "signed_out")
    return "They are signed out everywhere, and were notified by email."


def send_reset(request: HttpRequest, account: Account, form: Any) -> str:
    """Mail a person the way to the page for forgotten passwords. Raises ActionRefused."""
    ask_anew(request, account)
    if not EmailAddress.objects.filter(user=account, email=account.email, verified=True).exists():
        raise ActionRefused("Nothing was sent: the person has not proven this address.")
    try:
        count_mail(account.email)
    except RecipientLimitReached as reached:
        raise ActionRefused(
            "Nothing was sent: several mails went to this address today. Try again tomorrow."
        ) from reached
    outbox.queue_mail(account.email, "reset_asked", {"email": account.email})
    _report("account.reset_sent", request, account, form)
    tell(account, "reset_sent")
    return "A mail asks them to choose a new password. The old one works until they do."


SIGN_OUT = RowAction(
    "sign-out",
    "Sign out everywhere",
    "Every browser in which they are signed in is signed out at once. They can sign in again as before, and apps keep "
    "their access; to end that too, deactivate the account. They are told by mail that operators did this.",
    sign_out,
    form=ReasonForm,
    is_open=lambda request, row: row.is_active,
    icon="logout",
)
SEND_RESET = RowAction(
    "send-reset",
    "Send a reset",
    "A mail asks them to choose a new password, and leads to the page for forgotten passwords, which mails them a code "
    "as always. Neither the mail nor this page holds anything that opens the account, and the old password works "
    "until they have chosen a new one.",
    send_reset,
    form=ReasonForm,
    is_open=lambda request, row: row.is_active,
    icon="lock_reset",
)
