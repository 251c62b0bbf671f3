"""Operators' pages of families and organizations."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from accounts.models import Family, FamilyMember, Organization, OrganizationMember
from accounts.plans import members
from devportal.lib.long_lists import BoundedPaginator


class FamilyMemberInline(admin.TabularInline[FamilyMember, Family]):
    model = FamilyMember
    raw_id_fields = ("account",)
    extra = 1


class OrganizationMemberInline(admin.TabularInline[OrganizationMember, Organization]):
    model = OrganizationMember
    raw_id_fields = ("account",)
    extra = 1


@admin.register(Family)
class FamilyAdmin(admin.ModelAdmin[Family]):
    """Families. The owner is a member in any case."""

    list_display = ("owner", "created_at")
    list_select_related = ("owner",)
    search_fields = ("owner__email__exact",)
    raw_id_fields = ("owner",)
    inlines = (FamilyMemberInline,)
    show_full_result_count = False
    paginator = BoundedPaginator

    def get_readonly_fields(self, request: HttpRequest, obj: Family | None = None) -> tuple[str, ...]:
        return ("owner",) if obj else ()

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        members.add(form.instance, form.instance.owner)


@admin.register(Organization)
class OrganizationAdmin(admin.ModelAdmin[Organization]):
    """Organizations and their seats."""

    list_display = ("name", "created_at")
    search_fields = ("name",)
    inlines = (OrganizationMemberInline,)
    show_full_result_count = False
    paginator = BoundedPaginator
