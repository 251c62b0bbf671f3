"""Operators' view of people."""

from django.contrib import admin
from django.http import HttpRequest

from accounts.models import Account
from devportal.lib.long_lists import BoundedPaginator


@admin.register(Account)
class AccountAdmin(admin.ModelAdmin[Account]):
    """People: who they are and whether they may sign in. Passwords and second factors are never shown."""

    list_display = ("email", "given_name", "family_name", "email_verified", "is_active")
    search_fields = ("email",)
    fields = ("email", "given_name", "family_name", "email_verified", "is_active", "created_at", "last_login")
    readonly_fields = ("email", "email_verified", "created_at", "last_login")
    show_full_result_count = False
    paginator = BoundedPaginator

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
