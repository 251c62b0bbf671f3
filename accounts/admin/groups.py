"""Admin pages of families, organizations, their members and invitations."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminEmailInputWidget

from accounts.models import Account, Family, FamilyMember, Invitation, Organization, OrganizationMember
from accounts.plans import invitations, members
from accounts.plans.invitations import InvitationRefused
from core.admin.actions import ActionForm, ActionRefused, RowAction
from core.admin.model_admin import ReadOnlyModelAdmin, ServiceModelAdmin, ServiceTabularInline


class FamilyMemberInline(ServiceTabularInline[FamilyMember, Family]):
    model = FamilyMember
    autocomplete_fields = ("account",)
    extra = 1


@admin.register(Family)
class FamilyAdmin(ServiceModelAdmin[Family]):
    """Families. The owner is always a member."""

    list_display = ("owner", "created_at")
    list_select_related = ("owner",)
    search_help_text = "The owner's complete email address"
    autocomplete_fields = ("owner",)
    inlines = (FamilyMemberInline,)

    def search_filter(self, term: str) -> Q:
        return Q(owner__email=term.lower())

    def get_queryset(self, request: HttpRequest) -> Any:
        # A family's name includes its owner, also in fields where families are selected.
        return super().get_queryset(request).select_related("owner")

    def get_readonly_fields(self, request: HttpRequest, obj: Family | None = None) -> tuple[str, ...]:
        return ("owner",) if obj else ()

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        members.add_member(form.instance, form.instance.owner)

    def deletion_consequence(self, row: Family) -> str:
        return "Its members lose the family's plan immediately, and its open invitations end. Their accounts stay."


class AddressForm(ActionForm):
    email = forms.EmailField(label="Email address", widget=UnfoldAdminEmailInputWidget)


def _invite(request: HttpRequest, organization: Organization, form: Any) -> str:
    assert isinstance(request.user, Account)
    try:
        row = invitations.invite(organization, form.cleaned_data["email"], request.user)
    except InvitationRefused as error:
        raise ActionRefused(str(error)) from error
    return f"{row.email} is invited."


@admin.register(Organization)
class OrganizationAdmin(ServiceModelAdmin[Organization]):
    """Organizations and their seats."""

    list_display = ("name", "created_at")
    search_help_text = "Beginning of the name"
    row_actions = (
        RowAction(
            "invite",
            "Invite",
            "The invited person gets a mail that says where to answer. After they confirm the email address and "
            "accept, they get a seat. The mail does not say who invited them. The invitation ends when you are no "
            "longer an operator.",
            _invite,
            form=AddressForm,
            icon="mail",
        ),
    )

    def search_filter(self, term: str) -> Q:
        return Q(name__startswith=term)

    def deletion_consequence(self, row: Organization) -> str:
        return "Its members lose their seats immediately, and its open invitations end. Their accounts stay."


@admin.register(OrganizationMember)
class OrganizationMemberAdmin(ServiceModelAdmin[OrganizationMember]):
    """Members of organizations, as a separate list: an organization may have very many."""

    list_display = ("account", "organization", "joined_at")
    list_select_related = ("account", "organization")
    search_help_text = "A person's complete email address"
    link_filters = ("organization", "account")
    autocomplete_fields = ("account", "organization")

    def search_filter(self, term: str) -> Q:
        return Q(account__email=term.lower())

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # seats can only be given and removed

    def deletion_consequence(self, row: OrganizationMember) -> str:
        return "They lose the organization's plan immediately. Their account stays."


def _withdraw(request: HttpRequest, row: Invitation, form: Any) -> str:
    assert isinstance(request.user, Account)
    try:
        invitations.withdraw(row.group, row.pk, request.user)
    except InvitationRefused as error:
        raise ActionRefused(str(error)) from error
    return "The invitation has been withdrawn."


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyModelAdmin[Invitation]):
    """Invitations to organizations and families, with their state."""

    list_display = ("email", "to", "created_at", "expires_at", "accepted_at", "declined_at", "withdrawn_at")
    list_select_related = ("family__owner", "organization")
    search_help_text = "A complete email address"
    link_filters = ("organization", "family")
    fields = (
        "email", "to", "invited_by", "created_at", "mailed_at", "expires_at",
        "accepted_at", "declined_at", "withdrawn_at",
    )  # fmt: skip
    readonly_fields = ("to",)
    row_actions = (
        RowAction(
            "withdraw",
            "Withdraw",
            "It can no longer be accepted. No mail is sent.",
            _withdraw,
            is_open=lambda request, row: row.is_open,
            icon="undo",
        ),
    )

    def search_filter(self, term: str) -> Q:
        return Q(email=term.lower())

    @admin.display(description="to")
    def to(self, row: Invitation) -> str:
        return str(row.group)
