"""Operators' pages of what is sold."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from accounts.models import Feature, Plan, PlanEntitlement


class EntitlementInline(admin.TabularInline[PlanEntitlement, Plan]):
    """What the plan says of each feature; one that is not listed is denied."""

    model = PlanEntitlement
    raw_id_fields = ("feature",)
    extra = 1


@admin.register(Plan)
class PlanAdmin(admin.ModelAdmin[Plan]):
    """Plans. The id stays: apps know the plan by it."""

    list_display = ("plan_id", "display_name", "rank", "cache_max_age")
    search_fields = ("plan_id", "display_name")
    ordering = ("-rank", "plan_id")
    inlines = (EntitlementInline,)
    show_full_result_count = False

    def get_readonly_fields(self, request: HttpRequest, obj: Plan | None = None) -> tuple[str, ...]:
        return ("plan_id",) if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Plan | None = None) -> bool:
        # Asked before the page that would list everything that hangs on the plan.
        in_use = obj is not None and obj.subscriptions.exists()
        return not in_use and super().has_delete_permission(request, obj)

    def get_actions(self, request: HttpRequest) -> Any:
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions


@admin.register(Feature)
class FeatureAdmin(admin.ModelAdmin[Feature]):
    """The features that every answer lists."""

    list_display = ("name", "unit")
    search_fields = ("name",)
    ordering = ("name",)
    show_full_result_count = False
