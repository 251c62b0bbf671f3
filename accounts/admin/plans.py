"""Admin pages of plans, features, entitlements, subscriptions and groups."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminTextInputWidget

from accounts.admin.plan_form import PlanForm
from accounts.models import (
    Account,
    Family,
    FamilyMember,
    Feature,
    Invitation,
    Organization,
    OrganizationMember,
    Plan,
    PlanEntitlement,
    Subscription,
    SubscriptionEvent,
)
from accounts.models.plans import DATES, HOLDERS, State
from accounts.plans import holders, invitations, lifecycle, members
from accounts.plans.invitations import InvitationRefused
from accounts.plans.lifecycle import INITIAL_STATES, LAPSED_STATES, TRANSITIONS, Actor, IllegalTransition
from core import clock
from core.admin.actions import ActionForm, ActionRefused, RowAction
from core.admin.model_admin import ReadOnlyModelAdmin, ServiceModelAdmin, ServiceTabularInline
from core.database.storable import check_moment
from core.email_addresses import EmailAddressField, address_to_find


class EntitlementInline(ServiceTabularInline[PlanEntitlement, Plan]):
    """The plan's entitlements; a feature that is not listed is denied."""

    model = PlanEntitlement
    autocomplete_fields = ("feature",)
    ordering = ("feature__name",)
    extra = 1


@admin.register(Plan)
class PlanAdmin(ServiceModelAdmin[Plan]):
    """Plans. The id can't be changed, because apps identify the plan by it."""

    is_long = False
    empty_text = "There is no plan yet. Without plans everyone has the built-in plan “free”."
    list_display = ("plan_id", "display_name", "rank", "is_listed", "cache_max_age")
    search_help_text = "The beginning of the id"
    ordering = ("-rank", "plan_id")
    form = PlanForm
    fields = ("plan_id", "display_name", "rank", "is_listed", "apps", "cache_max_age")
    inlines = (EntitlementInline,)

    def search_filter(self, term: str) -> Q:
        return Q(plan_id__startswith=term)

    def get_fields(self, request: HttpRequest, obj: Plan | None = None) -> tuple[str, ...]:
        return (*self.fields, "people") if obj else self.fields

    def get_readonly_fields(self, request: HttpRequest, obj: Plan | None = None) -> tuple[str, ...]:
        return ("plan_id", "people") if obj else ()

    @admin.display(description="people with this plan")
    def people(self, plan: Plan) -> str:
        return holders.people_in_words(plan)

    def response_change(self, request: HttpRequest, obj: Plan) -> HttpResponse:
        affected = holders.people_in_words(obj)
        messages.info(request, f"The new values apply within {obj.cache_max_age} seconds. Affected: {affected}.")
        return super().response_change(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Plan | None = None) -> bool:
        in_use = obj is not None and obj.subscriptions.exists()
        return not in_use and super().has_delete_permission(request, obj)

    def deletion_consequence(self, row: Plan) -> str:
        return "Nobody has this plan. From now on, it can't be given to anyone."


@admin.register(Feature)
class FeatureAdmin(ServiceModelAdmin[Feature]):
    """The features that every response lists."""

    is_long = False
    empty_text = "There is no feature yet. Features are what plans include, such as “Shared notebooks”."
    list_display = ("name", "display_name", "unit")
    search_help_text = "The beginning of the name"
    ordering = ("name",)

    def search_filter(self, term: str) -> Q:
        return Q(name__startswith=term)

    def deletion_consequence(self, row: Feature) -> str:
        return "All plans lose their setting for this feature, and responses no longer list it, from the next call on."


class StepForm(forms.Form):
    """One state transition and its dates. An empty date means no change."""

    to = forms.ChoiceField(choices=State.choices, widget=forms.HiddenInput, required=False)
    trial_end = forms.DateTimeField(
        required=False,
        help_text="UTC, such as 2031-01-01 12:00",
        widget=UnfoldAdminTextInputWidget,
        validators=[check_moment],
    )
    period_end = forms.DateTimeField(required=False, widget=UnfoldAdminTextInputWidget, validators=[check_moment])
    read_only_until = forms.DateTimeField(required=False, widget=UnfoldAdminTextInputWidget, validators=[check_moment])
    note = forms.CharField(max_length=500, required=False, widget=UnfoldAdminTextInputWidget)

    def details(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in DATES if self.cleaned_data[name] is not None}


class HistoryInline(ServiceTabularInline[SubscriptionEvent, Subscription]):
    """The subscription's state transitions, with who or what made them."""

    model = SubscriptionEvent
    verbose_name_plural = "history"
    fields = readonly_fields = ("at", "from_state", "to_state", "by", "note")
    ordering = ("-at", "-pk")
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Subscription)
class SubscriptionAdmin(ServiceModelAdmin[Subscription]):
    """Subscriptions. An existing one changes only by the transitions of accounts/plans/lifecycle.py."""

    empty_text = "Nobody has a subscription yet. People, families and organizations without one have the plan “free”."
    list_display = ("holder", "plan", "state", "state_now", *DATES)
    list_filter = ("state", "plan")
    list_select_related = ("account", "family__owner", "organization", "plan")
    search_help_text = "A complete email address, or an organization's complete name"
    link_filters = HOLDERS
    fields = (*HOLDERS, "plan", "state", *DATES, "addons")
    autocomplete_fields = (*HOLDERS, "plan")
    inlines = (HistoryInline,)
    change_form_template = "admin/accounts/subscription_change.html"

    def search_filter(self, term: str) -> Q:
        # Look up keys first: a condition across several joined tables would read all subscriptions.
        if "@" not in term:
            return Q(organization__in=list(Organization.objects.filter(name=term).values_list("pk", flat=True)))
        accounts = list(Account.objects.filter(email=address_to_find(term)).values_list("pk", flat=True))
        families = list(Family.objects.filter(owner__in=accounts).values_list("pk", flat=True))
        return Q(account__in=accounts) | Q(family__in=families)

    @admin.display(description="current state")
    def state_now(self, subscription: Subscription) -> str:
        effective = lifecycle.effective_state(subscription, clock.now())
        return f"{effective.state}, read-only" if effective.read_only else effective.state

    def get_fields(self, request: HttpRequest, obj: Subscription | None = None) -> tuple[str, ...]:
        return ("state_now", *self.fields, "created_at") if obj else self.fields

    def get_readonly_fields(self, request: HttpRequest, obj: Subscription | None = None) -> tuple[str, ...]:
        return self.get_fields(request, obj) if obj else ()

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "state":
            kwargs["choices"] = [choice for choice in State.choices if choice[0] in INITIAL_STATES]
        return super().formfield_for_choice_field(db_field, request, **kwargs)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_inlines(self, request: HttpRequest, obj: Subscription | None) -> Any:
        return self.inlines if obj else ()

    def save_model(self, request: HttpRequest, obj: Subscription, form: Any, change: bool) -> None:
        if change:
            return
        details = {name: getattr(obj, name) for name in ("plan", *DATES, "addons")}
        obj.pk = lifecycle.start_subscription(obj.holder, obj.state, _by(request), **details).pk

    def get_urls(self) -> list[URLPattern]:
        step = self.admin_site.admin_view(self.take_step)
        return [path("<int:pk>/step", step, name="accounts_subscription_step"), *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        context: dict[str, Any] = {
            "show_save": False,
            "show_save_and_continue": False,
            "show_save_and_add_another": False,
        }
        subscription = self.get_object(request, object_id)
        if subscription is not None:
            state = lifecycle.effective_state(subscription, clock.now()).state
            legal = INITIAL_STATES if state == State.FREE else TRANSITIONS[state]
            context |= {
                "steps": [choice for choice in State.choices if choice[0] in legal],
                "step_form": StepForm(),
                "ends_window": state in LAPSED_STATES,
                "step_url": reverse("admin:accounts_subscription_step", args=[subscription.pk]),
            }
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))

    def take_step(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Make the transition of the button that was pressed; without one, change only the dates (POST)."""
        subscription = get_object_or_404(Subscription, pk=pk)
        if request.method != "POST" or not self.has_change_permission(request, subscription):
            raise PermissionDenied
        form = StepForm(request.POST)
        if not form.is_valid():
            messages.error(request, " ".join(f"{name}: {said.as_text()}" for name, said in form.errors.items()))
        else:
            self._take(request, subscription, form)
        return HttpResponseRedirect(reverse("admin:accounts_subscription_change", args=[pk]))

    def _take(self, request: HttpRequest, subscription: Subscription, form: StepForm) -> None:
        to, by, details = form.cleaned_data["to"], _by(request, form.cleaned_data["note"]), form.details()
        if to == State.FREE:
            details["read_only_until"] = clock.now()
        try:
            if to:
                lifecycle.transition(subscription, to, by, **details)
            else:
                lifecycle.change_details(subscription, by, **details)
        except IllegalTransition as error:
            messages.error(request, str(error))
        else:
            messages.success(request, "The subscription has been changed.")


def _by(request: HttpRequest, note: str = "") -> Actor:
    assert isinstance(request.user, Account)
    return Actor("operator", request.user, note)


class FamilyMemberInline(ServiceTabularInline[FamilyMember, Family]):
    model = FamilyMember
    ordering = ("pk",)
    autocomplete_fields = ("account",)
    extra = 1


@admin.register(Family)
class FamilyAdmin(ServiceModelAdmin[Family]):
    """Families. The owner is always a member."""

    empty_text = "There is no family yet. A family shares the plan of its owner."
    list_display = ("owner", "created_at")
    list_select_related = ("owner",)
    search_help_text = "The owner's complete email address"
    autocomplete_fields = ("owner",)
    inlines = (FamilyMemberInline,)

    def search_filter(self, term: str) -> Q:
        return Q(owner__email=address_to_find(term))

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
    email = EmailAddressField(label="Email address", widget=UnfoldAdminEmailInputWidget)


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

    empty_text = "There is no organization yet. An organization gives its plan to everyone who has a seat."
    list_display = ("name", "created_at")
    search_help_text = "Beginning of the name"
    row_actions = (
        RowAction(
            "invite",
            "Invite",
            "The invited person gets an email that says where to answer. After they confirm the email address and "
            "accept, they get a seat. The email does not say who invited them. The invitation ends when you are no "
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

    empty_text = "Nobody has a seat in an organization yet."
    list_display = ("account", "organization", "joined_at")
    list_select_related = ("account", "organization")
    search_help_text = "A person's complete email address"
    link_filters = ("organization", "account")
    autocomplete_fields = ("account", "organization")

    def search_filter(self, term: str) -> Q:
        return Q(account__email=address_to_find(term))

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

    empty_text = "Nobody was invited to a family or an organization yet."
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
            "It can no longer be accepted. No email is sent.",
            _withdraw,
            is_open=lambda request, row: row.is_open,
            icon="undo",
        ),
    )

    def search_filter(self, term: str) -> Q:
        return Q(email=address_to_find(term))

    @admin.display(description="to")
    def to(self, row: Invitation) -> str:
        return str(row.group)
