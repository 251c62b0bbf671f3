"""Admin pages of plans, features and entitlements."""

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from accounts.models import Feature, Plan, PlanEntitlement
from devportal.lib.admin.model_admin import ServiceModelAdmin, ServiceTabularInline


class EntitlementInline(ServiceTabularInline[PlanEntitlement, Plan]):
    """The plan's entitlements; a feature that is not listed is denied."""

    model = PlanEntitlement
    autocomplete_fields = ("feature",)
    ordering = ("feature__name",)
    extra = 1
    # DATA_UPLOAD_MAX_NUMBER_FIELDS bounds what one form may send.
    per_page = 20


@admin.register(Plan)
class PlanAdmin(ServiceModelAdmin[Plan]):
    """Plans. The id can't be changed: apps identify the plan by it."""

    is_long = False
    list_display = ("plan_id", "display_name", "rank", "is_listed", "cache_max_age")
    search_help_text = "Beginning of the id"
    ordering = ("-rank", "plan_id")
    fields = ("plan_id", "display_name", "rank", "is_listed", "apps", "cache_max_age")
    inlines = (EntitlementInline,)

    def search_filter(self, term: str) -> Q:
        return Q(plan_id__startswith=term)

    def get_readonly_fields(self, request: HttpRequest, obj: Plan | None = None) -> tuple[str, ...]:
        return ("plan_id",) if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Plan | None = None) -> bool:
        in_use = obj is not None and obj.subscriptions.exists()
        return not in_use and super().has_delete_permission(request, obj)

    def deletion_consequence(self, row: Plan) -> str:
        return "Nobody has this plan. It can't be given any more, from now on."


@admin.register(Feature)
class FeatureAdmin(ServiceModelAdmin[Feature]):
    """The features that every answer lists."""

    is_long = False
    list_display = ("name", "display_name", "unit")
    search_help_text = "Beginning of the name"
    ordering = ("name",)

    def search_filter(self, term: str) -> Q:
        return Q(name__startswith=term)

    def deletion_consequence(self, row: Feature) -> str:
        return "Every plan loses what it says of this feature, and no answer lists it any more, from the next call on."
