"""Operators' view of the sign-in service. No secret and no token is ever rendered."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from oidc.models import Project


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows that only the service itself writes."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ClientAdmin(ReadOnly):
    """Apps."""

    list_display = ("name", "client_id", "type", "project", "enabled", "verified_at")
    list_select_related = ("project",)
    search_fields = ("name", "client_id")
    fields = (
        "name",
        "client_id",
        "type",
        "project",
        "enabled",
        "first_party",
        "verified_at",
        "approved_scopes",
    )


class CredentialAdmin(ReadOnly):
    """Codes and tokens: that they exist and until when, never what they are."""

    list_display = ("pk", "expires")
    fields = ("expires",)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(Project)
class ProjectAdmin(ReadOnly):
    """Projects."""

    list_display = ("name", "public_id", "suspended_at", "created_at")
    search_fields = ("name", "public_id")
