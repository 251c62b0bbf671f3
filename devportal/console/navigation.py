"""The pages of a project and of a client in their order, for the console's menus and its jump box."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from devportal.console.access import Membership
from oidc.models import Client
from oidc.projects.roles import Role


@dataclass(frozen=True)
class Page:
    """A page that every project or client has.

    `search_words` are other words for it, `role` is the lowest role that may open it, `below` holds the URL names of
    its subpages. Pages without `in_menu` are found only by the jump box.
    """

    label: str
    url_name: str
    search_words: str
    role: str = Role.VIEWER
    icon: str = ""
    below: str = ""
    in_menu: bool = True


@dataclass(frozen=True)
class MenuEntry:
    """A link of a menu. `current` is its `aria-current`."""

    label: str
    url: str
    icon: str
    current: str


PROJECT_PAGES = (
    Page("Overview", "project", "project home", icon="layout-dashboard"),
    Page("Clients", "clients", "apps", icon="app-window", below="client_new"),
    Page("Create a client", "client_new", "new add app", Role.DEVELOPER, in_menu=False),
    Page("API keys", "keys", "credentials tokens", icon="key-round", below="key_new key_rotate key_expiry key_revoke"),
    Page("Create an API key", "key_new", "new add", Role.DEVELOPER, in_menu=False),
    Page("Usage", "usage", "calls statistics charts errors", icon="chart-column"),
    Page("Sign-ins", "project_analytics", "signins analytics funnel statistics charts", icon="log-in"),
    Page("Request log", "requests", "logs api calls errors", icon="scroll-text", below="request_detail"),
    Page("People", "people", "users consents", icon="users"),
    Page("Domains", "domains", "dns proof verify", icon="globe", below="domain_check domain_remove"),
    Page("Members", "members", "team invite roles owners", icon="user-plus", below="member member_remove"),
    Page("Activity", "activity", "audit trail history", icon="history"),
    Page(
        "Settings",
        "project_settings",
        "project name",
        icon="settings",
        below="project_transfer project_leave project_delete",
    ),
    Page("Transfer project", "project_transfer", "owner hand over", Role.OWNER, in_menu=False),
    Page("Delete project", "project_delete", "remove", Role.OWNER, in_menu=False),
)
CLIENT_PAGES = (
    Page(
        "Settings", "client_settings", "client redirect uri url scopes app turn off", below="client_type client_delete"
    ),
    Page(
        "Secrets",
        "client_secrets",
        "client secret rotate",
        below="client_secret_new client_secret_rotate client_secret_expiry client_secret_end",
    ),
    Page("Quick start", "quick_start", "code example snippets"),
    Page("Sign-in log", "sign_ins", "logs signins login errors", below="sign_in_detail"),
    Page("Analytics", "client_analytics", "signins funnel statistics charts"),
    Page("Playground", "playground", "try test sign-in", Role.DEVELOPER, below="playground_exchange"),
    Page("Tester", "client_tester", "authorization request check"),
    Page("Branding and review", "review", "logo verify verification", below="review_appeal review_preview app_page"),
    Page("Delete client", "client_delete", "remove", Role.DEVELOPER, in_menu=False),
)


def menus(request: HttpRequest, membership: Membership, client: Client | None) -> dict[str, list[MenuEntry]]:
    """Return the menus of a page: `project_menu` and, for pages of a client, `client_menu`."""
    current = (request.resolver_match and request.resolver_match.url_name) or ""
    project_id = membership.project.public_id
    project_menu = _menu(PROJECT_PAGES, membership, current, [project_id], holder="clients" if client else "")
    if client is None:
        return {"project_menu": project_menu}
    client_menu = _menu(CLIENT_PAGES, membership, current, [project_id, client.client_id])
    return {"project_menu": project_menu, "client_menu": client_menu}


def _menu(
    pages: Sequence[Page], membership: Membership, current: str, arguments: list[str], holder: str = ""
) -> list[MenuEntry]:
    """Return the links that the member may open. `holder` is the page that all pages of a client belong to."""
    return [
        MenuEntry(
            page.label, reverse(f"console:{page.url_name}", args=arguments), page.icon, _mark(page, current, holder)
        )
        for page in pages
        if page.in_menu and membership.is_at_least(page.role)
    ]


def _mark(page: Page, current: str, holder: str) -> str:
    if page.url_name == current:
        return "page"
    return "true" if page.url_name == holder or current in page.below.split() else ""
