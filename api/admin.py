"""Admin pages of API keys and the request log. A key shows its public id and last four characters, never more."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from accounts.sessions.authentication import account_of
from api.keys import API_KEYS
from api.models import ApiKey, RequestLog
from core.admin.actions import RowAction
from core.admin.model_admin import LogModelAdmin, ReadOnlyModelAdmin
from core.email_addresses import address_to_find
from oidc.models import Project


def _revoke(request: HttpRequest, key: ApiKey, form: Any) -> str:
    API_KEYS.revoke(key, account_of(request))
    return "The key is revoked. This takes effect everywhere within 30 seconds."


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyModelAdmin[ApiKey]):
    """API keys."""

    empty_text = "There is no API key yet. Developers create them in the console."
    list_display = ("name", "shown", "owner", "project", "created_at", "last_used_at", "expires_at", "revoked_at")
    list_select_related = ("owner", "project")
    search_help_text = "A key's whole public id, or its owner's whole email address"
    link_filters = ("project", "owner")
    fields = (
        "name", "shown", "owner", "project", "scopes", "created_at", "last_used_at", "expires_at", "revoked_at",
        "leaked_at",
    )  # fmt: skip
    readonly_fields = ("shown", "scopes")
    row_actions = (
        RowAction(
            "revoke",
            "Revoke",
            "Within 30 seconds requests with this key are refused with invalid_api_key. This can't be undone; its "
            "owner can create another one.",
            _revoke,
            is_open=lambda request, row: row.revoked_at is None,
            icon="key_off",
            is_dangerous=True,
        ),
    )

    def search_filter(self, term: str) -> Q:
        return (
            Q(owner__email=address_to_find(term))
            if "@" in term
            else Q(public_id=term.removeprefix(settings.API_KEY_PREFIX))
        )

    def audit_target(self, row: ApiKey) -> str:
        return row.public_id

    @admin.display(description="key")
    def shown(self, key: ApiKey) -> str:
        return key.masked

    @admin.display(description="scopes")
    def scopes(self, key: ApiKey) -> str:
        return key.permissions


@admin.register(RequestLog)
class RequestLogAdmin(LogModelAdmin[RequestLog]):
    """Requests to the developer API; the ones without a project had an unknown credential."""

    empty_text = "No request to the developer API was logged lately."
    list_display = ("at", "method", "path", "status", "code", "milliseconds", "project", "caller", "request_id")
    list_select_related = ("project",)
    search_help_text = "A whole request id, or a project's whole public id"
    link_filters = ("project",)

    def search_filter(self, term: str) -> Q:
        if not term.startswith("prj_"):
            return Q(request_id=term)
        # The project's key first: the join would read the log from its end on.
        return Q(project__in=list(Project.objects.filter(public_id=term).values_list("pk", flat=True)))

    @admin.display(description="key or client")
    def caller(self, row: RequestLog) -> str:
        return row.credential or row.client
