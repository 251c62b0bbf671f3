"""Admin pages for clients, domains, consents, tokens and signing keys. They never render a secret or its digest."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join

from accounts.models import Account
from accounts.roles import is_operator
from accounts.sessions.authentication import account_of
from core.admin.actions import ActionRefused, ReasonForm, RowAction
from core.admin.model_admin import ReadOnlyModelAdmin
from core.email_addresses import address_to_find
from core.http.template_tags import moment_in
from oidc.apis import admin_pages  # noqa: F401  (registers the pages of APIs)
from oidc.clients import reviewed_hosts
from oidc.clients.lookup import find_client
from oidc.clients.registration import set_client_enabled
from oidc.domains import search
from oidc.domains.proofs import problems_of
from oidc.events import admin_pages as event_pages  # noqa: F401  (registers the pages of events)
from oidc.models import Client, Connection, ProjectDomain, SigningKey
from oidc.projects.roles import Gone
from oidc.tokens import signing_keys


class HiddenModelAdmin(admin.ModelAdmin[Any]):
    """Admin class for django-oauth-toolkit's models, which our site skips: it registers only ServiceModelAdmins."""


def _actor(request: HttpRequest) -> Account:
    assert isinstance(request.user, Account)
    return request.user


# --- Apps ---


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else "never"


def _switch(request: HttpRequest, client: Client, enabled: bool, reason: str = "") -> None:
    try:
        set_client_enabled(client, _actor(request), enabled, reason)
    except Gone as gone:
        raise ActionRefused("This app is deleted.") from gone


def _turn_off(request: HttpRequest, client: Client, form: Any) -> str:
    _switch(request, client, False, form.cleaned_data["reason"])
    return "The app is off. This takes effect everywhere within 30 seconds."


def _turn_on(request: HttpRequest, client: Client, form: Any) -> str:
    _switch(request, client, True)
    return "The app is on. This takes effect everywhere within 30 seconds."


class SearchedByDeveloper(ReadOnlyModelAdmin[Any]):
    """Base of lists that operators also search for a developer's email address.

    Reviewers do so in the lists of reviews and projects, which leave out what they may not decide on.
    """

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Any]", search_term: str
    ) -> tuple["QuerySet[Any]", bool]:
        if "@" in search_term and not is_operator(account_of(request)):
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)


class ClientAdmin(SearchedByDeveloper):
    """Apps. Their name, logo and URLs can't be edited here: they go through app review."""

    empty_text = "There is no app yet. Developers create them in the console."
    list_display = ("name", "client_id", "type", "project", "state", "is_verified", "first_party")
    list_select_related = ("project",)
    search_help_text = search.HELP
    link_filters = ("project",)
    fields = (
        "name", "client_id", "type", "project", "state", "first_party", "reviewed_since", "approved_scopes",
        "kept_scopes",
        "optional_scopes", "least_acr", "forgive_lost_responses", "redirect_uris", "post_logout_redirect_uris",
        "home_page_url",
        "privacy_policy_url", "terms_url", "last_reviewed_at", "approved_hosts", "reviewed_hosts", "outside_hosts",
        "secrets", "created",
    )  # fmt: skip
    readonly_fields = ("state", "reviewed_since", "approved_hosts", "reviewed_hosts", "outside_hosts", "secrets")
    row_actions = (
        RowAction(
            "off",
            "Turn off",
            "Within 30 seconds nobody can sign in to this app, and its tokens stop working. The project's developers "
            "can turn it on again. To prevent that, suspend the project.",
            _turn_off,
            form=ReasonForm,
            is_open=lambda request, row: row.enabled,
            icon="toggle_off",
            is_dangerous=True,
        ),
        RowAction(
            "on",
            "Turn on",
            "Within 30 seconds people can sign in to this app again, and its existing tokens work again.",
            _turn_on,
            is_open=lambda request, row: not row.enabled,
            icon="toggle_on",
        ),
    )

    def search_filter(self, term: str) -> Q:
        return Q(pk__in=search.find_clients(term))

    def audit_target(self, row: Client) -> str:
        return str(row.client_id)

    @admin.display(description="state")
    def state(self, client: Client) -> str:
        return client.state.label

    @admin.display(description="reviewed", boolean=True)
    def is_verified(self, client: Client) -> bool:
        return client.is_verified

    @admin.display(description="reviewed since")
    def reviewed_since(self, client: Client) -> str:
        return moment_in(None, client.verified_at) if client.verified_at else "-"

    @admin.display(description="hosts outside of the review")
    def outside_hosts(self, client: Client) -> str:
        return ", ".join(reviewed_hosts.outside_hosts(client)) or "none"

    @admin.display(description="live secrets")
    def secrets(self, client: Client) -> str:
        rows = client.secrets.live().order_by("pk")
        lines = ((row.last_four, _day(row.created_at), _day(row.last_used_at)) for row in rows)
        return format_html_join("", "<div>…{}, created {}, last used {}</div>", lines) or "none"


# --- Consents ---


@admin.register(Connection)
class ConnectionAdmin(ReadOnlyModelAdmin[Connection]):
    """Consents: which scopes a person granted to an app."""

    empty_text = "Nobody has allowed an app to read anything yet."
    list_display = (
        "account", "client", "client_state", "scopes", "left_out", "first_authorized_at", "last_authorized_at",
        "removed_at",
    )  # fmt: skip
    list_select_related = ("account", "client__project")
    search_help_text = "A person's whole email address, or a whole client id"
    link_filters = ("account", "client")
    fields = (
        "account", "client", "scopes", "left_out", "outside_review", "first_authorized_at",
        "last_authorized_at", "removed_at",
    )  # fmt: skip
    readonly_fields = ("outside_review",)

    @admin.display(description="scopes outside of the review")
    def outside_review(self, connection: Connection) -> str:
        granted = connection.scopes_outside_review or {}
        return "\n".join(f"{host}: {scopes}" for host, scopes in granted.items()) or "none"

    @admin.display(description="app is")
    def client_state(self, connection: Connection) -> str:
        return connection.client.state.label

    def search_filter(self, term: str) -> Q:
        # Look up the client's key first: with a join the database would scan the connections from the newest on.
        return Q(account__email=address_to_find(term)) if "@" in term else Q(client=find_client(term) or 0)


# --- Domains ---


@admin.register(ProjectDomain)
class ProjectDomainAdmin(SearchedByDeveloper):
    """Domains that projects claim, proven or not. The proof tokens are not rendered: they belong to the project."""

    empty_text = "No project has claimed a domain yet. Developers do so in the console, before a review."
    list_display = ("name", "project", "method", "is_proven_now", "proven_at", "checked_at", "missing_since", "lost_at")
    list_select_related = ("project",)
    search_help_text = "A whole domain, a project's id or words of its name, or a developer's whole email address"
    link_filters = ("project",)
    fields = (
        "name", "project", "method", "proven_at", "found_at", "checked_at", "check_at", "missing_since", "lost_at",
        "problems_found", "added_at", "added_by",
    )  # fmt: skip

    def get_fields(self, request: HttpRequest, obj: ProjectDomain | None = None) -> list[Any]:
        """Omit who added it for reviewers. Those without a conflict of interest read it in the audit trail."""
        hidden = set() if is_operator(account_of(request)) else {"added_by"}
        return [name for name in self.fields if name not in hidden]

    def search_filter(self, term: str) -> Q:
        return Q(name=address_to_find(term).removesuffix(".")) | Q(project__in=search.find_projects(term))

    @admin.display(description="problems")
    def problems_found(self, domain: ProjectDomain) -> str:
        return "\n".join(f"{problem.label}: {problem.text}" for problem in problems_of(domain)) or "-"

    @admin.display(description="proven", boolean=True)
    def is_proven_now(self, domain: ProjectDomain) -> bool:
        return domain.is_proven


class TokenAdmin(ReadOnlyModelAdmin[Any]):
    """Access and refresh tokens: person, client, scopes and expiry, never the token itself."""

    empty_text = "There is no token. Apps get them when people sign in."
    list_display = ("pk", "user", "application", "scope", "expires", "is_ended")
    list_select_related = ("user", "application", "family")
    search_help_text = "A person's whole email address"
    link_filters = ("user", "application")
    fields = ("user", "application", "created", "expires", "is_ended")
    readonly_fields = ("is_ended",)

    def search_filter(self, term: str) -> Q:
        return Q(user__email=address_to_find(term))

    @admin.display(description="ended", boolean=True)
    def is_ended(self, row: Any) -> bool:
        return row.family.revoked_at is not None or getattr(row, "revoked", None) is not None

    @admin.display(description="scope")
    def scope(self, row: Any) -> str:
        return str(row.family.scope)


# --- Signing keys ---


def _publish(request: HttpRequest, row: None, form: Any) -> str:
    if not signing_keys.publish_next_key(_actor(request).pk):
        raise ActionRefused("A next key is published already.")
    return "A next key is published. It starts to sign when the active key is 90 days old, or when you rotate to it."


def _activate(request: HttpRequest, row: None, form: Any) -> str:
    if not signing_keys.activate_next_key(_actor(request).pk):
        raise ActionRefused("There is no readable next key.")
    return "The next key signs from now on. The previous key is retired."


def _next_exists() -> bool:
    return SigningKey.objects.filter(state=SigningKey.State.NEXT).exists()


@admin.register(SigningKey)
class SigningKeyAdmin(ReadOnlyModelAdmin[SigningKey]):
    """Signing keys. The private part is never rendered, encrypted or not."""

    is_long = False
    empty_text = "There is no signing key yet. The first migration makes one."
    list_display = ("kid", "state", "created_at", "activated_at", "retired_at", "withdrawn_at")
    fields = ("kid", "state", "public_jwk", "created_at", "activated_at", "retired_at", "withdrawn_at")
    list_actions = (
        RowAction(
            "publish",
            "Publish a next key",
            "Creates a key and publishes it, so that apps can fetch it before it signs. The service does this "
            "automatically every 90 days. Do it here to rotate sooner. Nothing changes for apps yet.",
            _publish,
            is_open=lambda request, row: not _next_exists(),
            icon="add",
        ),
        RowAction(
            "rotate",
            "Rotate to the next key",
            "The next key signs from now on, and the active key is retired. The retired key stays published for as "
            "long as anything it signed may be valid. Apps that cached the keys before the next one was published "
            "reject new tokens until they fetch the keys again. Wait two hours after publishing, unless the active "
            "key has leaked.",
            _activate,
            is_open=lambda request, row: _next_exists(),
            icon="autorenew",
            is_dangerous=True,
        ),
    )

    def audit_target(self, row: SigningKey) -> str:
        return row.kid
