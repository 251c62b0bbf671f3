"""Admin page of people. It neither shows nor sets passwords and second factors."""

from tempfile import TemporaryFile
from typing import Any

from allauth.account.models import EmailAddress
from django import forms
from django.contrib import admin
from django.db.models import Q
from django.http import FileResponse, HttpRequest
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from accounts.admin.security_actions import ACTIONS as RECOVERY
from accounts.admin.security_actions import SEND_RESET, SIGN_OUT, ask_anew, is_somebody_else, target_of, tell
from accounts.authentication import account_of
from accounts.data_export import archive
from accounts.deletion import closing, deleting
from accounts.models import Account, PairwiseSubject
from accounts.roles import ROLES, may_administer, roles_of, set_roles
from core.admin.actions import ActionForm, ActionRefused, ReasonForm, RowAction
from core.admin.model_admin import ServiceModelAdmin
from core.audit import Event, report

# A `sub` is longer than what anybody types of a name.
SHORTEST_SUB = 20


def _note(action: str, request: HttpRequest, account: Account, **fields: Any) -> None:
    report(Event(action, request.user.pk, target=target_of(account), **fields))


def _set_active(request: HttpRequest, account: Account, is_active: bool, **details: Any) -> None:
    ask_anew(request, account)
    account.refresh_from_db(fields=["is_active", "deletion_due_at"])  # its owner may have closed or kept it meanwhile
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
    ask_anew(request, account)
    try:
        closing.keep(account.pk, actor=account_of(request))
    except closing.Gone as gone:
        raise ActionRefused("The account was deleted or turned off.") from gone
    return "The account stays, and they can sign in again. Ended tokens, API keys and invitations do not come back."


def _delete(request: HttpRequest, account: Account, form: Any) -> str:
    blockers = deleting.deletion_blockers(account)
    if blockers:
        raise ActionRefused(
            f"Not deleted. What its owner would be told: {' '.join(blocker.text for blocker in blockers)}"
        )
    _note("account.deleted", request, account, details={"reason": form.cleaned_data["reason"]})
    closing.delete_and_tell(account)
    return "The account is deleted."


class RolesForm(ActionForm):
    roles = forms.MultipleChoiceField(
        choices=[(role, role) for role in ROLES], required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial = {"roles": sorted(roles_of(self.row))}


def _give_roles(request: HttpRequest, account: Account, form: Any) -> str:
    ask_anew(request, account)
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
    """People: who they are and whether they may sign in."""

    list_display = ("email", "full_name", "email_verified", "is_active", "is_staff", "created_at")
    search_help_text = "Beginning of an email address, or a whole sub"
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
            "They are signed out everywhere at once, and every code, token and API key in their name ends for good, as "
            "do the invitations that they sent. They can't sign in until somebody activates the account again; their "
            "data stays. If the owner has closed the account, it is no longer deleted on its own, and signing in no "
            "longer offers to keep it.",
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
            "They can sign in again, with the password and the two-step verification that they had. Tokens, API keys "
            "and invitations stay ended.",
            _activate,
            is_open=lambda request, row: (
                not row.is_active and row.deletion_due_at is None and is_somebody_else(request, row)
            ),
            icon="check_circle",
        ),
        RowAction(
            "keep",
            "Cancel the deletion",
            "Its owner has closed the account, and it would be deleted by itself. It stays instead, and they can sign "
            "in again; they get a mail that says so. Tokens, API keys and invitations stay ended.",
            _keep,
            is_open=lambda request, row: row.deletion_due_at is not None and is_somebody_else(request, row),
            icon="undo",
        ),
        RowAction(
            "export",
            "Export",
            "Downloads everything that the service keeps about this person and that is theirs to have, as a ZIP. "
            "The export is recorded in the audit trail.",
            _export,
            icon="download",
        ),
        *RECOVERY,
        RowAction(
            "roles",
            "Roles",
            "A reviewer decides on apps; an operator does the rest. Either may open the admin, at once; who loses "
            "both can't open it any more. A superuser becomes an ordinary person with these roles.",
            _give_roles,
            form=RolesForm,
            is_open=lambda request, row: request.user.is_superuser and is_somebody_else(request, row),
            icon="badge",
        ),
        RowAction(
            "delete",
            "Delete",
            "The account, its addresses, sessions, second factors, photo and subscription are deleted at once and for "
            "good, and every credential in its name ends. Apps keep what they already received. The audit keeps what "
            "was done, without the name. Their proven addresses get a last mail. This can't be undone.",
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
        """Accounts with more permissions than one's own are read-only, for every action too."""
        allowed: bool = super().has_change_permission(request, obj)
        assert isinstance(request.user, Account)
        return allowed and (obj is None or may_administer(request.user, obj))

    def has_row_action_permission(self, request: HttpRequest, obj: Account | None = None) -> bool:
        return super().has_row_action_permission(request, obj) and self.has_change_permission(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Account | None = None) -> bool:
        return False  # an act, which names what ends

    @admin.display(description="name")
    def full_name(self, account: Account) -> str:
        return account.full_name

    @admin.display(description="other addresses")
    def other_addresses(self, account: Account) -> str:
        rows = EmailAddress.objects.filter(user=account).exclude(email=account.email)[:20]
        return ", ".join(f"{row.email} ({'proven' if row.verified else 'not proven'})" for row in rows) or "none"

    @admin.display(description="roles")
    def roles(self, account: Account) -> str:
        return "superuser" if account.is_superuser else ", ".join(sorted(roles_of(account))) or "none"
