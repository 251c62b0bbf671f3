"""Admin pages of people, and the actions of operators for the security of an account."""

from datetime import datetime
from tempfile import TemporaryFile
from typing import Any

from allauth.account.models import EmailAddress
from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import FileResponse, HttpRequest
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminEmailInputWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from accounts.activity.recording import By, record
from accounts.admin.sign_in import sign_in_card
from accounts.data_export import archive
from accounts.deletion import deleting
from accounts.mail import outbox
from accounts.mail.recipient_limit import RecipientLimitReached, count_mail
from accounts.models import Account, PairwiseSubject
from accounts.recovery import closing, waiting
from accounts.roles import ROLES, may_administer, roles_of, set_roles
from accounts.sessions.authentication import account_of
from accounts.sessions.browser_sessions import end_all_sessions
from core import clock
from core.admin.actions import MAX_TEXT_LENGTH, ActionForm, ActionRefused, ReasonForm, RowAction
from core.admin.model_admin import ServiceModelAdmin
from core.admin.theme import may_view
from core.audit import Event, report
from core.email_addresses import EmailAddressField, address_to_find


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


def is_someone_else(request: HttpRequest, account: Account) -> bool:
    """Return whether the account is not the operator's own: operators must not lock themselves out."""
    return account.pk != request.user.pk


def record_action(account: Account, kind: str, *, notify: bool = True, **details: Any) -> None:
    """Record an operator's action. The person gets an email if their email address is verified."""
    record(account, kind, by=By.OPERATOR, notify=notify and account.email_verified, **details)


# Operators never see what a person does, and never get a code or a link that opens the account. Signing out ends
# sessions; a reset asks the person, who confirms their email address as usual (docs/operations.md#the-admin).


def _report(action: str, request: HttpRequest, account: Account, form: Any) -> None:
    details = {"reason": form.cleaned_data["reason"]}
    report(Event(action, request.user.pk, target=target_of(account), details=details))


def sign_out(request: HttpRequest, account: Account, form: Any) -> str:
    """End all sessions of a person."""
    check_again(request, account)
    end_all_sessions(account)
    _report("account.signed_out", request, account, form)
    record_action(account, "signed_out")
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
            "Nothing was sent: several emails were sent to this email address today. Try again tomorrow."
        ) from reached
    try:
        outbox.queue_mail(account.email, "reset_asked", {"email": account.email})
    except ValidationError as error:
        raise ActionRefused("Nothing was sent: no mail server accepts this email address.") from error
    _report("account.reset_sent", request, account, form)
    record_action(account, "reset_sent")
    return "The person got an email that asks them to choose a new password. The old password works until they do."


SIGN_OUT = RowAction(
    "sign-out",
    "Sign out everywhere",
    "Every browser in which they are signed in is signed out immediately. They can sign in again as before, and apps "
    "keep their access; to end that too, deactivate the account. An email tells them that operators did this.",
    sign_out,
    form=ReasonForm,
    is_open=lambda request, row: row.is_active,
    icon="logout",
)
SEND_RESET = RowAction(
    "send-reset",
    "Send a reset",
    "An email asks them to choose a new password. It links to the page for forgotten passwords, which sends them a "
    "code as usual. Neither the email nor this page contains anything that opens the account. The old password works "
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
    new_email = EmailAddressField(
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
        help_text="Only if someone else took over the account: when that began. If you are not sure, enter an earlier "
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
        started = waiting.start(account, operator, **form.cleaned_data)
    except waiting.RecoveryRefused as refusal:
        raise ActionRefused(str(refusal)) from refusal
    return f"Started. The person was notified. It will be completed on {started.due_at:%-d %b %Y, %H:%M} UTC."


def _cancel(request: HttpRequest, account: Account, form: Any) -> str:
    operator = check_again(request, account)
    found = waiting.open_recovery(account)
    if found is None or not waiting.cancel(found, operator, form.cleaned_data["reason"]):
        raise ActionRefused("There is no recovery to cancel.")
    return "Cancelled. The passkeys, authenticator app and recovery codes stay, and the person was notified."


def _may_start(request: HttpRequest, account: Account) -> bool:
    return account.is_active and is_someone_else(request, account) and waiting.open_recovery(account) is None


def _may_cancel(request: HttpRequest, account: Account) -> bool:
    return is_someone_else(request, account) and waiting.open_recovery(account) is not None


def _consequence(account: Account) -> str:
    return (
        f"In {waiting.hours()} hours the person's passkeys, security keys, authenticator app and recovery codes are "
        "removed, their password no longer works, and they are signed out everywhere; they sign in again with a code "
        "to their email address. If the account was taken over, only what was added since then is removed. Until then "
        "nothing changes. They are notified immediately at every email address. Anyone who reads that email or is "
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
        is_open=_may_cancel,
        icon="undo",
    ),
)


# A `sub` is longer than the beginning of an email address that anyone types.
SHORTEST_SUB = 20


def _note(action: str, request: HttpRequest, account: Account, **fields: Any) -> None:
    report(Event(action, request.user.pk, target=target_of(account), **fields))


def _set_active(request: HttpRequest, account: Account, is_active: bool, **details: Any) -> None:
    check_again(request, account)
    account.refresh_from_db(fields=["is_active", "deletion_due_at"])  # the owner may have changed it meanwhile
    before: dict[str, Any] = {"is_active": account.is_active}
    if account.deletion_due_at is not None:
        before["deletion_due_at"] = account.deletion_due_at.isoformat()
    account.is_active, account.deletion_due_at = is_active, None
    account.save(update_fields=["is_active", "deletion_due_at"])
    action = "account.activated" if is_active else "account.deactivated"
    _note(action, request, account, details=details, before=before, after={"is_active": is_active})
    record_action(account, "account_turned_on" if is_active else "account_turned_off")


def _deactivate(request: HttpRequest, account: Account, form: Any) -> str:
    _set_active(request, account, False, reason=form.cleaned_data["reason"])
    return "They can no longer sign in, and all tokens and API keys in their name have ended."


def _activate(request: HttpRequest, account: Account, form: Any) -> str:
    _set_active(request, account, True)
    return "They can sign in again. They have to sign in to apps again and create new API keys."


def _export(request: HttpRequest, account: Account, form: Any) -> FileResponse:
    written = TemporaryFile()  # noqa: SIM115  (the response closes it)
    archive.write_archive(account, written)
    written.seek(0)
    _note("account.exported", request, account)
    response = FileResponse(written, as_attachment=True, filename=f"account-{account.pk}.zip")
    response["Cache-Control"] = "no-store"
    return response


def _keep(request: HttpRequest, account: Account, form: Any) -> str:
    check_again(request, account)
    try:
        closing.keep(account.pk, actor=account_of(request))
    except closing.Gone as gone:
        raise ActionRefused("The account was deleted or turned off.") from gone
    return "The account is kept, and they can sign in again. Ended tokens, API keys and invitations do not come back."


def _delete(request: HttpRequest, account: Account, form: Any) -> str:
    check_again(request, account)
    blockers = deleting.deletion_blockers(account)
    if blockers:
        raise ActionRefused(f"Not deleted. The owner would see this: {' '.join(blocker.text for blocker in blockers)}")
    _note("account.deleted", request, account, details={"reason": form.cleaned_data["reason"]})
    closing.delete_and_notify(account)
    return "The account has been deleted."


class RolesForm(ActionForm):
    roles = forms.MultipleChoiceField(
        choices=[(role, role) for role in ROLES], required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial = {"roles": sorted(roles_of(self.row))}


def _give_roles(request: HttpRequest, account: Account, form: Any) -> str:
    check_again(request, account)
    if not Account.objects.filter(pk=request.user.pk or 0, is_superuser=True).exists():
        raise ActionRefused("Only superusers can give roles.")
    before, after = sorted(roles_of(account)), sorted(form.cleaned_data["roles"])
    set_roles(account, after)
    _note("account.roles_changed", request, account, before={"roles": before}, after={"roles": after})
    if before != after:
        record_action(account, "roles_changed" if after else "roles_removed", roles=list(after))
    return f"Roles: {', '.join(after) or 'none'}."


@admin.register(Account)
class AccountAdmin(ServiceModelAdmin[Account]):
    """People: their data, roles, and whether they may sign in."""

    empty_text = "Nobody has an account yet."
    list_display = ("email", "full_name", "email_verified", "is_active", "is_staff", "created_at")
    search_help_text = "The beginning of an email address, or a complete sub"
    fields = (
        "email", "email_verified", "other_addresses", "given_name", "family_name",
        "is_active", "deletion_due_at", "roles", "created_at", "last_login",
    )  # fmt: skip
    readonly_fields = (
        "email", "email_verified", "other_addresses", "is_active", "deletion_due_at", "roles", "created_at",
        "last_login",
    )  # fmt: skip
    private_fields = ("given_name", "family_name")
    change_form_template = "admin/accounts/account_change.html"
    row_actions = (
        SIGN_OUT,
        SEND_RESET,
        RowAction(
            "deactivate",
            "Deactivate",
            "They are signed out everywhere immediately. All codes, tokens and API keys in their name, and the "
            "invitations that they sent, are permanently ended. They can't sign in until someone activates the "
            "account again; their data is kept. If the owner has closed the account, it is no longer deleted "
            "automatically, and signing in no longer offers to keep it.",
            _deactivate,
            form=ReasonForm,
            is_open=lambda request, row: (
                (row.is_active or row.deletion_due_at is not None) and is_someone_else(request, row)
            ),
            icon="block",
        ),
        RowAction(
            "activate",
            "Activate",
            "They can sign in again, with the same password and two-step verification as before. Tokens, API keys and "
            "invitations stay ended.",
            _activate,
            is_open=lambda request, row: (
                not row.is_active and row.deletion_due_at is None and is_someone_else(request, row)
            ),
            icon="check_circle",
        ),
        RowAction(
            "keep",
            "Cancel the deletion",
            "The owner has closed the account, and it would be deleted automatically. It is kept instead, and they can "
            "sign in again; an email tells them. Tokens, API keys and invitations stay ended.",
            _keep,
            is_open=lambda request, row: row.deletion_due_at is not None and is_someone_else(request, row),
            icon="undo",
        ),
        RowAction(
            "export",
            "Export",
            "Downloads all data that the service keeps about this person and that they are entitled to, as a ZIP file. "
            "The export is recorded in the audit trail.",
            _export,
            icon="download",
        ),
        *ACTIONS,
        RowAction(
            "roles",
            "Roles",
            "A reviewer decides on apps; an operator does everything else. Both roles can open the admin immediately; "
            "people with neither role can't. A superuser becomes an ordinary person with these roles.",
            _give_roles,
            form=RolesForm,
            is_open=lambda request, row: request.user.is_superuser and is_someone_else(request, row),
            icon="badge",
        ),
        RowAction(
            "delete",
            "Delete",
            "The account, its email addresses, sessions, passkeys, two-step verification, photo and subscription are "
            "deleted immediately and permanently, and every credential in its name ends. Apps keep the data that they "
            "already received. The audit trail keeps the actions, without the name. Their confirmed email addresses "
            "get a last email. This can't be undone.",
            _delete,
            form=ReasonForm,
            is_open=is_someone_else,
            icon="delete",
            is_dangerous=True,
        ),
    )

    def search_filter(self, term: str) -> Q:
        if "@" not in term and len(term) >= SHORTEST_SUB:
            return Q(pk__in=PairwiseSubject.objects.filter(sub=term).values("account"))
        return Q(email__startswith=address_to_find(term))

    def search_term(self, row: Account) -> str:
        return row.email

    def audit_target(self, row: Any) -> str:
        return target_of(row)

    def has_change_permission(self, request: HttpRequest, obj: Account | None = None) -> bool:
        """Make accounts with more permissions than one's own read-only, for every action too."""
        allowed: bool = super().has_change_permission(request, obj)
        assert isinstance(request.user, Account)
        if not allowed or obj is None:
            return allowed
        # A page asks once for each action; an action that is done checks again (`check_again`).
        known: dict[int, bool] = request.__dict__.setdefault("may_administer", {})
        if obj.pk not in known:
            known[obj.pk] = may_administer(request.user, obj)
        return known[obj.pk]

    def has_row_action_permission(self, request: HttpRequest, obj: Account | None = None) -> bool:
        return super().has_row_action_permission(request, obj) and self.has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Account, form: Any, change: bool) -> None:
        # Everything else, such as the password, may have changed since the account was read.
        obj.save(update_fields=form.changed_data)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Account | None = None) -> bool:
        return False  # deletion is a row action, whose page lists the consequences

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        account: Account = context["original"]
        context["sign_in"] = sign_in_card(account, with_mails=may_view("accounts_outbox")(request))
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.display(description="name")
    def full_name(self, account: Account) -> str:
        return account.full_name

    @admin.display(description="other email addresses")
    def other_addresses(self, account: Account) -> str:
        rows = EmailAddress.objects.filter(user=account).exclude(email=account.email)[:20]
        return ", ".join(f"{row.email} ({'confirmed' if row.verified else 'not confirmed'})" for row in rows) or "none"

    @admin.display(description="roles")
    def roles(self, account: Account) -> str:
        return "superuser" if account.is_superuser else ", ".join(sorted(roles_of(account))) or "none"
