"""Admin pages of the company's own APIs and their credentials (docs/apis.md)."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from accounts.sessions.authentication import account_of
from core.admin.actions import ActionRefused, ReasonForm, RowAction
from core.admin.model_admin import ReadOnlyModelAdmin, ServiceModelAdmin, ServiceTabularInline
from core.http import split_hosts
from oidc.apis import declarations
from oidc.apis.admin_forms import ApiForm, RotateForm, ScopeForm, ScopeFormSet
from oidc.apis.credentials import API_CREDENTIALS, create_credential
from oidc.apis.rule_tables import write_rules
from oidc.models import Api, ApiCredential, ApiScope
from oidc.projects.credentials import CredentialEnded
from oidc.projects.lifecycle import QuotaExceeded

# --- APIs ---


def _switch(request: HttpRequest, api: Api, enabled: bool, reason: str = "") -> None:
    try:
        declarations.set_api_enabled(api, enabled, account_of(request), reason)
    except Api.DoesNotExist as gone:
        raise ActionRefused("This API is deleted.") from gone


def _turn_off(request: HttpRequest, api: Api, form: Any) -> str:
    _switch(request, api, False, form.cleaned_data["reason"])
    return "The API is off. This takes effect everywhere within 10 seconds."


def _turn_on(request: HttpRequest, api: Api, form: Any) -> str:
    _switch(request, api, True)
    return "The API is on. This takes effect everywhere within 10 seconds."


def _delete(request: HttpRequest, api: Api, form: Any) -> str:
    try:
        declarations.delete_api(api, account_of(request))
    except ValidationError as error:
        raise ActionRefused(" ".join(["Not deleted. Turn the API off instead.", *error.messages])) from error
    except Api.DoesNotExist as gone:
        raise ActionRefused("This API was already deleted.") from gone
    return f"The API {api.name} is deleted."


def _create_credential(request: HttpRequest, api: Api, form: Any) -> HttpResponseBase:
    try:
        row, raw = create_credential(api, account_of(request))
    except QuotaExceeded as full:
        raise ActionRefused(str(full)) from full
    except Api.DoesNotExist as gone:
        raise ActionRefused("This API is deleted.") from gone
    return _show_once(request, row, raw)


def _show_once(request: HttpRequest, row: ApiCredential, raw: str) -> TemplateResponse:
    """Return the page with a new credential. It is never stored, logged or shown again."""
    context = {
        **admin.site.each_context(request),
        "opts": ApiCredential._meta,
        "title": "New credential",
        "credential": row,
        "raw": raw,
        # The names that the code of the guides reads.
        "env": f"CREDENTIAL_ID={row.public_id}\nCREDENTIAL_SECRET={raw}\n",
        "guide_url": _guide_url(request),
        "back_url": reverse("admin:oidc_api_change", args=[row.api_id]),
    }
    return TemplateResponse(request, "admin/oidc/credential_once.html", context)


def _guide_url(request: HttpRequest) -> str:
    """Return the URL of the docs for authors of an API, which may be on another host."""
    return split_hosts.link(reverse("docs_protect"), request)


class ScopeInline(ServiceTabularInline[ApiScope, Api]):
    """The scopes of the API."""

    model = ApiScope
    form = ScopeForm
    formset = ScopeFormSet
    ordering = ("pk",)
    extra = 1


@admin.register(Api)
class ApiAdmin(ServiceModelAdmin[Api]):
    """APIs with their scopes and rules. oidc/apis/declarations.py saves them, and reports what changed."""

    is_long = False
    ordering = ("slug",)
    empty_text = "No API is declared yet. The developer API needs no declaration."
    list_display = ("name", "slug", "identifier", "enabled")
    form = ApiForm
    inlines = (ScopeInline,)
    row_actions = (
        RowAction(
            "credential",
            "Create a credential",
            "The API authenticates with it at the introspection endpoint. The secret is shown once, on the next page.",
            _create_credential,
            icon="add",
        ),
        RowAction(
            "off",
            "Turn off",
            "Within 10 seconds nobody can request its scopes, and its tokens and API keys are refused. Consents, "
            "approvals and scopes of API keys stay, and count again when you turn it on.",
            _turn_off,
            form=ReasonForm,
            is_open=lambda request, row: row.enabled,
            icon="toggle_off",
            is_dangerous=True,
        ),
        RowAction(
            "on",
            "Turn on",
            "Within 10 seconds people can be asked for its scopes again, and its tokens and API keys work again.",
            _turn_on,
            is_open=lambda request, row: not row.enabled,
            icon="toggle_on",
        ),
        RowAction(
            "delete",
            "Delete",
            "Its scopes, rules and credentials are deleted immediately and permanently. An API with a scope that was "
            "granted, approved or requested can't be deleted.",
            _delete,
            icon="delete",
            is_dangerous=True,
        ),
    )

    def _links(self, request: HttpRequest, row: Api) -> list[tuple[str, str]]:
        guide, page = _guide_url(request), reverse("docs_api", args=[row.slug])
        docs = [("Its page in the docs", split_hosts.link(page, request))] if row.enabled else []
        return [*super()._links(request, row), *docs, ("How to protect an API", guide)]

    def get_fields(self, request: HttpRequest, obj: Api | None = None) -> tuple[str, ...]:
        may_edit = self.has_change_permission(request, obj) if obj else True
        return (*ApiForm.Meta.fields, "rule_tables" if may_edit else "rules")

    def get_readonly_fields(self, request: HttpRequest, obj: Api | None = None) -> tuple[str, ...]:
        # Turning off has a page that states what follows.
        return ("slug", "enabled", "rules") if obj else ("rules",)

    @admin.display(description="rules")
    def rules(self, api: Api) -> str:
        return write_rules(declarations.rules_of(api)) or "none"

    def audit_target(self, row: Api) -> str:
        return f"api:{row.slug}"

    def has_delete_permission(self, request: HttpRequest, obj: Api | None = None) -> bool:
        return False  # the action deletes, because it can be refused

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except (ValidationError, Api.DoesNotExist) as error:
            # The forms were valid, and someone else changed something at the same time.
            texts = error.messages if isinstance(error, ValidationError) else ["This API is deleted."]
            messages.error(request, " ".join(["Nothing was saved.", *texts]))
            return redirect("admin:oidc_api_changelist")

    def save_form(self, request: HttpRequest, form: Any, change: bool) -> Any:
        row = form.instance
        row.declared_rules = form.cleaned_data.get("rule_tables") or []  # for the formset of the scopes
        return row

    def save_model(self, request: HttpRequest, obj: Api, form: Any, change: bool) -> None:
        """Save nothing: save_related() saves the API together with its scopes."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        declaration = form.declaration(next(iter(formsets), None))
        actor, row = account_of(request), form.instance
        if change:
            declarations.change_api(row, declaration, actor)
        else:
            row.pk = declarations.create_api(form.cleaned_data["slug"], declaration, actor).pk

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        return None

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:  # type: ignore[override]
        """Report nothing: create_api() does."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:  # type: ignore[override]
        """Report nothing: change_api() does."""


# --- Credentials ---


def _rotate(request: HttpRequest, credential: ApiCredential, form: Any) -> HttpResponseBase:
    try:
        row, raw = API_CREDENTIALS.rotate(credential, form.expires_at, account_of(request))
    except CredentialEnded as ended:
        raise ActionRefused("This credential is revoked or expired.") from ended
    except QuotaExceeded as full:
        raise ActionRefused(str(full)) from full
    return _show_once(request, row, raw)


def _revoke(request: HttpRequest, credential: ApiCredential, form: Any) -> str:
    if not API_CREDENTIALS.revoke(credential, account_of(request)):
        raise ActionRefused("This credential was already revoked.")
    return "The credential is revoked. Requests with it are refused from now on."


def _is_live(request: HttpRequest, credential: ApiCredential) -> bool:
    return credential.state == "live"


@admin.register(ApiCredential)
class ApiCredentialAdmin(ReadOnlyModelAdmin[ApiCredential]):
    """Credentials of APIs. A secret shows its last four characters, never more."""

    empty_text = "No API has a credential yet. Create one on the page of the API."
    list_display = (
        "public_id", "secret", "api", "state_now", "leaked_at", "created_at", "last_used_at", "last_used_address",
    )  # fmt: skip
    list_select_related = ("api",)
    link_filters = ("api",)
    fields = (
        "public_id", "secret", "api", "state_now", "created_at", "created_by", "last_used_at", "last_used_address",
        "expires_at", "revoked_at", "leaked_at",
    )  # fmt: skip
    readonly_fields = ("secret", "state_now")
    row_actions = (
        RowAction(
            "rotate",
            "Rotate",
            "Creates a credential that replaces this one. The secret is shown once, on the next page.",
            _rotate,
            form=RotateForm,
            is_open=_is_live,
            icon="autorenew",
        ),
        RowAction(
            "revoke",
            "Revoke",
            "Introspection requests with this credential are refused immediately. This can't be undone.",
            _revoke,
            is_open=lambda request, row: row.revoked_at is None,
            icon="key_off",
            is_dangerous=True,
        ),
    )

    def _links(self, request: HttpRequest, row: ApiCredential) -> list[tuple[str, str]]:
        return [*super()._links(request, row), ("How to protect an API", _guide_url(request))]

    def audit_target(self, row: ApiCredential) -> str:
        return row.public_id

    @admin.display(description="secret")
    def secret(self, row: ApiCredential) -> str:
        return f"…{row.last_four}"

    @admin.display(description="state")
    def state_now(self, row: ApiCredential) -> str:
        return row.state
