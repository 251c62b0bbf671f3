"""Admin page of people. It neither shows nor changes passwords and two-step verification."""

from tempfile import TemporaryFile
from typing import Any

from allauth.account.models import EmailAddress
from django import forms
from django.contrib import admin
from django.db.models import Q
from django.http import FileResponse, HttpRequest
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from accounts.admin.security_actions import ACTIONS as RECOVERY
from accounts.admin.security_actions import SEND_RESET, SIGN_OUT, check_again, is_somebody_else, target_of, tell
from accounts.authentication import account_of
from accounts.data_export import archive
from accounts.deletion import closing, deleting
from accounts.models import Account, PairwiseSubject
from accounts.roles import ROLES, may_administer, roles_of, set_roles
from core.admin.actions import ActionForm, ActionRefused, ReasonForm, RowAction
from core.admin.model_admin import ServiceModelAdmin
from core.audit import Event, report

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
    tell(account, "account_turned_on" if is_active else "account_turned_off")


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
    blockers = deleting.deletion_blockers(account)
    if blockers:
        raise ActionRefused(f"Not deleted. The owner would see this: {' '.join(blocker.text for blocker in blockers)}")
    _note("account.deleted", request, account, details={"reason": form.cleaned_data["reason"]})
    closing.delete_and_tell(account)
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
        tell(account, "roles_changed" if after else "roles_removed", roles=list(after))
    return f"Roles: {', '.join(after) or 'none'}."


@admin.register(Account)
class AccountAdmin(ServiceModelAdmin[Account]):
    """People: their data, roles, and whether they may sign in."""

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
    row_actions = (
        SIGN_OUT,
        SEND_RESET,
        RowAction(
            "deactivate",
            "Deactivate",
            "They are signed out everywhere immediately. All codes, tokens and API keys in their name, and the "
            "invitations that they sent, are permanently ended. They can't sign in until somebody activates the "
            "account again; their data is kept. If the owner has closed the account, it is no longer deleted "
            "automatically, and signing in no longer offers to keep it.",
            _deactivate,
            form=ReasonForm,
            is_open=lambda request, row: (
                (row.is_active or row.deletion_due_at is not None) and is_somebody_else(request, row)
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
                not row.is_active and row.deletion_due_at is None and is_somebody_else(request, row)
            ),
            icon="check_circle",
        ),
        RowAction(
            "keep",
            "Cancel the deletion",
            "The owner has closed the account, and it would be deleted automatically. It is kept instead, and they can "
            "sign in again; a mail tells them. Tokens, API keys and invitations stay ended.",
            _keep,
            is_open=lambda request, row: row.deletion_due_at is not None and is_somebody_else(request, row),
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
        *RECOVERY,
        RowAction(
            "roles",
            "Roles",
            "A reviewer decides on apps; an operator does everything else. Both roles can open the admin immediately; "
            "people with neither role can't. A superuser becomes an ordinary person with these roles.",
            _give_roles,
            form=RolesForm,
            is_open=lambda request, row: request.user.is_superuser and is_somebody_else(request, row),
            icon="badge",
        ),
        RowAction(
            "delete",
            "Delete",
            "The account, its email addresses, sessions, passkeys, two-step verification, photo and subscription are "
            "deleted immediately and permanently, and every credential in its name ends. Apps keep the data that they "
            "already received. The audit trail keeps the actions, without the name. Their confirmed email addresses "
            "get a last mail. This can't be undone.",
            _delete,
            form=ReasonForm,
            is_open=is_somebody_else,
            icon="delete",
            is_dangerous=True,
        ),
    )

    def search_filter(self, term: str) -> Q:
        if "@" not in term and len(term) >= SHORTEST_SUB:
            return Q(pk__in=PairwiseSubject.objects.filter(sub=term).values("account"))
        return Q(email__startswith=term.lower())

    def audit_target(self, row: Any) -> str:
        return target_of(row)

    def has_change_permission(self, request: HttpRequest, obj: Account | None = None) -> bool:
        """Make accounts with more permissions than one's own read-only, for every action too."""
        allowed: bool = super().has_change_permission(request, obj)
        assert isinstance(request.user, Account)
        return allowed and (obj is None or may_administer(request.user, obj))

    def has_row_action_permission(self, request: HttpRequest, obj: Account | None = None) -> bool:
        return super().has_row_action_permission(request, obj) and self.has_change_permission(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Account | None = None) -> bool:
        return False  # deletion is a row action, whose page lists the consequences

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
