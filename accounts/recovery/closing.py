"""Closing an account at its owner's request, and then keeping it, or deleting it when its waiting time is over.

A closed account is not active, so everything that rejects deactivated accounts rejects it too. People who sign in to it
only get one page (`ClosedAccountStage`). Each step locks the account's row: if it is kept and deleted at the same
moment, the first one to get the lock wins, and the other finds nothing left to do.
"""

import contextlib
import logging
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from allauth.account import forms as allauth_forms
from allauth.account.adapter import get_adapter
from allauth.account.stages import LoginStage, LoginStageController
from allauth.core import context as allauth_context
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.formats import date_format

from accounts.activity import recording
from accounts.activity.recording import By
from accounts.data_export.archive import verified_addresses_of
from accounts.deletion import deleting
from accounts.entrance.forms import TAKES_EMAIL, EmailField, typed_email
from accounts.mail import outbox
from accounts.models import Account
from accounts.recovery.address_changes import addresses_left, reachable_addresses
from accounts.sessions.browser_sessions import RESETTING, has_changed, is_current
from core import clock
from core.audit import Event, report

log = logging.getLogger(__name__)

BATCH = 100


class Gone(Exception):
    """The account has been deleted or deactivated meanwhile."""


class Outdated(Exception):
    """The person's sessions were ended after this sign-in: they have to sign in again."""


def day_of(due_at: datetime) -> str:
    """Return the day on which an account is deleted, in words."""
    return date_format(due_at, "j F Y")


def ask(account: Account, request: HttpRequest) -> datetime | None:
    """Close the account at its owner's request; return when it will be deleted, None if it already was.

    All access in its name ends, and stays ended if they keep it. Raises deletion.DeletionBlocked, Gone, and Outdated if
    the person's sessions have ended since `account` was read.
    """
    with transaction.atomic():
        deleting.lock_blockers(account)
        row = _locked(account.pk)
        if row is None:
            raise Gone
        if row.deletion_due_at is not None:  # a second click
            return row.deletion_due_at
        if not row.is_active:
            raise Gone
        if has_changed(account, row):
            raise Outdated
        if not settings.ACCOUNT_DELETION_DAYS:
            _note("account.deleted", row, row)
            delete_and_notify(row)
            return None
        if deleting.deletion_blockers(row):
            raise deleting.DeletionBlocked
        due_at = clock.now() + timedelta(days=settings.ACCOUNT_DELETION_DAYS)
        row.is_active, row.deletion_due_at = False, due_at
        row.save(update_fields=["is_active", "deletion_due_at"])  # its receiver ends all access
        _note("account.deletion_asked", row, row, due_at=due_at.isoformat())
        addresses = verified_addresses_of(row)
        recording.record(row, "deletion_asked", request, also_to=addresses, due_at=due_at.isoformat())
        _notify_former_addresses(row, due_at)
    return due_at


def keep(
    pk: int, request: HttpRequest | None = None, *, actor: Account | None = None, stamp: str | None = None
) -> Account:
    """Open a closed account again; `actor` is the operator, if an operator does it.

    With `stamp`, the person's session auth hash at sign-in, this is refused if their sessions were ended since, by a
    new password or another request to delete. Raises Gone, Outdated.
    """
    with transaction.atomic():
        row = _locked(pk)
        if row is None or (row.deletion_due_at is None and not row.is_active):
            raise Gone
        if stamp is not None and not is_current(stamp, row):
            raise Outdated
        if row.deletion_due_at is not None:  # otherwise it was already kept
            _open(row)
            _note("account.deletion_cancelled", row, actor or row)
            by = By.OPERATOR if actor is not None else By.PERSON
            recording.record(row, "deletion_cancelled", request, by=by, also_to=reachable_addresses(row))
    return row


def delete_due() -> int:
    """Delete accounts that are due, at most BATCH; return how many were deleted. A failure does not stop the others."""
    gone = 0
    due = Account.objects.filter(deletion_due_at__lte=clock.now()).order_by("deletion_due_at")
    for pk in list(due.values_list("pk", flat=True)):
        if gone == BATCH:
            break
        try:
            gone += _delete_if_due(pk)
        except Exception:
            log.exception("The account %d is due but could not be deleted. It is tried again.", pk)
    return gone


def _delete_if_due(pk: int) -> bool:
    with transaction.atomic():
        deleting.lock_blockers(Account(pk=pk))
        row = _locked(pk)
        if row is None or row.is_active or row.deletion_due_at is None or row.deletion_due_at > clock.now():
            return False
        # People can't become the only owner of a project while they are signed out, but an operator can make them so.
        blockers = deleting.deletion_blockers(row)
        if blockers:
            _open(row)
            _note("account.deletion_blocked", row, None)
            stored = [asdict(blocker) for blocker in blockers]
            recording.record(row, "deletion_blocked", by=By.SERVICE, also_to=reachable_addresses(row), blockers=stored)
            return False
        _note("account.deleted", row, None)
        delete_and_notify(row)
    return True


def delete_and_notify(account: Account) -> None:
    """Delete an account immediately, and send the last email, which is deleted once it is sent.

    It is sent to the verified email addresses and to former ones that could still take the account back. Raises
    deletion.DeletionBlocked.
    """
    with transaction.atomic():
        addresses = reachable_addresses(account)
        deleting.delete_account(account)
        for address in addresses:
            with contextlib.suppress(ValidationError):  # no mail server accepts this email address
                outbox.queue_last_mail(address, "account_deleted", {})


def _notify_former_addresses(account: Account, due_at: datetime) -> None:
    """Notify former email addresses that can still take the account back, and keep it."""
    for address in addresses_left(account):
        with contextlib.suppress(ValidationError):  # no mail server accepts this email address
            outbox.queue_mail(address, "former_account_to_be_deleted", {"email": address, "due_at": due_at})


def _locked(pk: int) -> Account | None:
    """Lock an account, without blocking other transactions that only refer to it."""
    return Account.objects.select_for_update(no_key=True).filter(pk=pk).first()


def _open(row: Account) -> None:
    row.is_active, row.deletion_due_at = True, None
    row.save(update_fields=["is_active", "deletion_due_at"])


def _note(action: str, account: Account, actor: Account | None, **details: str) -> None:
    """Report an audit event; `actor` is None for actions of the service itself."""
    report(Event(action, actor.pk if actor else None, target=f"account:{account.pk}", details=dict(details)))


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
    stage.login.user = keep(stage.login.user.pk, request, stamp=stage.state["stamp"])
    response: HttpResponse = stage.exit()
    return response


def deletion_due_at(email: str) -> datetime | None:
    """Return when the account with this email address is deleted, None if it is not closed."""
    found = Account.objects.filter(emailaddress__email=email).exclude(deletion_due_at=None)
    return found.values_list("deletion_due_at", flat=True).first()


class ResetPasswordForm(allauth_forms.ResetPasswordForm):  # type: ignore[misc]  # allauth is untyped
    """The library's form, which ignores inactive accounts, extended to closed ones, which can still be kept."""

    email = EmailField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].widget.attrs[TAKES_EMAIL] = True
        self.fields["email"].initial = typed_email(allauth_context.request)

    def clean_email(self) -> str:
        email: str = get_adapter().clean_email(self.cleaned_data["email"])
        proven = Account.objects.filter(emailaddress__email=email, emailaddress__verified=True)
        found = list(proven) or Account.objects.filter(email=email)
        self.users = [account for account in found if account.is_active or account.deletion_due_at is not None]
        return email

    def save(self, request: HttpRequest, **kwargs: Any) -> str:
        """Mail the code, which is valid for as long as the account keeps its password and sessions."""
        request.session[RESETTING] = self.users[0].get_session_auth_hash() if self.users else ""
        email: str = super().save(request, **kwargs)
        return email
