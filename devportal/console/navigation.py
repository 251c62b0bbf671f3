"""Menus and shortcuts of the console: the pages of a project and of a client, and what every page has in common."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import Account
from core.http.wrong_method import post_only
from devportal.console.access import Membership, RoleTooLow, switcher_for
from devportal.console.fixes import client_page
from oidc.models import Client, ProjectMember
from oidc.projects.roles import Gone, InsufficientRole, Role

APP_NAME = "console"  # of the console's URLs


@dataclass(frozen=True)
class Page:
    """A page that every project or client has.

    `search_words` are other words for it, `role` is the lowest role that may open it, `below` holds the URL names of
    its subpages. Pages without `in_menu` are found only by the jump box; many of them are actions, whose `section` is
    the id of the form on the page. Pages with the same `group` are views of one page: the menu has one entry for them,
    and `view` is their label on the page.
    """

    label: str
    url_name: str
    search_words: str
    role: str = Role.VIEWER
    icon: str = ""
    below: str = ""
    in_menu: bool = True
    section: str = ""
    group: str = ""
    view: str = ""

    def url(self, arguments: Sequence[str]) -> str:
        """Return the URL of the page of one project or client."""
        address = reverse(f"console:{self.url_name}", args=arguments)
        return f"{address}#{self.section}" if self.section else address


def _action(
    label: str, url_name: str, search_words: str = "", role: str = Role.DEVELOPER, *, section: str = ""
) -> Page:
    return Page(label, url_name, search_words, role, in_menu=False, section=section)


@dataclass(frozen=True)
class MenuEntry:
    """A link of a menu. `current` is its `aria-current`."""

    label: str
    url: str
    icon: str
    current: str


# Pages that belong to no project.
CONSOLE_PAGES = (
    Page("All projects", "home", "console home overview"),
    _action("Create a project", "project_new", "new add", Role.VIEWER),
    _action("Notices", "notices", "notifications bell unread inbox", Role.VIEWER),
)
PROJECT_PAGES = (
    Page("Overview", "project", "project home", icon="layout-dashboard"),
    Page("Apps", "clients", "clients", icon="app-window", below="client_new"),
    Page("API keys", "keys", "credentials tokens", icon="key-round", below="key_new key_rotate key_expiry key_revoke"),
    Page("Usage", "usage", "analytics requests statistics charts errors", icon="chart-column", group="Analytics"),
    Page("Sign-ins", "project_analytics", "analytics signins funnel statistics charts", group="Analytics"),
    Page("People", "people", "analytics users consents", group="Analytics"),
    Page(
        "Sign-in log",
        "project_sign_ins",
        "logs signins login errors",
        icon="scroll-text",
        group="Logs",
        view="Sign-ins",
    ),
    Page("Request log", "requests", "logs api errors", below="request_detail", group="Logs", view="Requests"),
    Page("Deliveries", "project_deliveries", "logs events webhook failed tries jti", group="Logs"),
    Page("Members", "members", "team invite roles owners", icon="users", below="member member_remove", group="Team"),
    Page("Activity", "activity", "team audit trail history", group="Team"),
    Page("Domains", "domains", "dns proof verify", icon="globe", below="domain_check domain_remove"),
    Page(
        "Settings",
        "project_settings",
        "project name",
        icon="settings",
        below="project_transfer project_leave project_delete notice_settings",
    ),
    _action("Choose notices", "notice_settings", "notifications email switches preferences alerts", Role.VIEWER),
    _action("Create an app", "client_new", "new add client register"),
    _action("Create an API key", "key_new", "new add"),
    _action("Rotate an API key", "keys", "renew replace roll change"),
    _action("Revoke an API key", "keys", "end delete remove", Role.VIEWER),
    _action("Add a domain", "domains", "new prove verify", section="add"),
    _action("Invite a member", "members", "new add person people user team", Role.OWNER, section="invite"),
    _action("Change a member's role", "members", "permissions", Role.OWNER),
    _action("Remove a member", "members", "delete person people user", Role.OWNER),
    _action("Rename project", "project_settings", "change name", Role.OWNER),
    _action("Leave project", "project_leave", "quit", Role.VIEWER),
    _action("Transfer project", "project_transfer", "owner hand over", Role.OWNER),
    _action("Delete project", "project_delete", "remove", Role.OWNER),
)
CLIENT_PAGES = (
    Page(
        "Settings",
        "client_settings",
        "client redirect uri url app turn off issuer endpoints",
        below="client_type client_delete client_secret_new client_secret_rotate client_secret_expiry client_secret_end",
    ),
    Page("Quick start", "quick_start", "code example snippets"),
    Page(
        "Events",
        "client_events",
        "webhooks back-channel logout security receiver notifications risc caep",
        below="deliveries delivery",
    ),
    Page("Sign-in log", "sign_ins", "logs signins login errors", below="sign_in_detail", group="Activity", view="Log"),
    Page("Analytics", "client_analytics", "signins funnel statistics charts", group="Activity"),
    Page(
        "Playground",
        "playground",
        "try test sign-in",
        below="client_tester playground_begin playground_exchange playground_refresh playground_events",
    ),
    Page("Branding", "branding", "name logo home page privacy support consent", below="app_page"),
    Page("Review", "review", "verify verification publish", below="review_appeal review_preview"),
    _action("Add a redirect URL", "client_settings", "new change callback uri", section="id_redirect_uris"),
    _action("Secrets", "client_settings", "client secret", Role.VIEWER, section="secrets"),
    _action("Scopes", "client_settings", "permissions apis access resource audience", Role.VIEWER, section="scopes"),
    _action("Change optional scopes", "client_settings", "permissions consent leave out", section="scopes"),
    _action("Require two factors or a passkey", "client_settings", "sign-in rules acr level", section="sign-in"),
    _action("Tester", "playground", "authorization request sign-out url check", Role.VIEWER, section="tester"),
    _action("Add a sign-out URL", "client_settings", "new change uri", section="id_post_logout_redirect_uris"),
    _action("Rename app", "client_settings", "change name client", section="id_name"),
    _action("Turn app off or on", "client_settings", "disable enable stop client", section="switch"),
    _action("Rotate a secret", "client_settings", "renew replace roll change client", section="secrets"),
    _action("Create a secret", "client_settings", "new add second client", section="secrets"),
    _action("Revoke a secret", "client_settings", "end delete remove client", section="secrets"),
    _action("Set up back-channel logout", "client_events", "sign-out webhook sid url", section="logout"),
    _action("Choose security events", "client_events", "webhook risc caep types url", section="events"),
    _action("Send a test event", "client_events", "webhook try delivery"),
    _action("Deliveries of events", "deliveries", "webhook log failed tries jti", Role.VIEWER),
    _action("Open the test receiver", "playground_events", "webhook inbox playground events"),
    _action("Submit for review", "review", "send publish verify verification"),
    _action("Change app type", "client_type", "client web spa installed native"),
    _action("Delete app", "client_delete", "remove client"),
)

# The last breadcrumb of subpages whose action has no name for it.
_SUBPAGES = {
    "notice_settings": "Notices",
    "deliveries": "Deliveries",
    "delivery": "Delivery",
    "playground_events": "Test receiver",
    "sign_in_detail": "Entry",
    "request_detail": "Entry",
    "member": "Member",
    "member_remove": "Remove",
    "domain_remove": "Remove",
    "key_rotate": "Rotate",
    "key_expiry": "Expiry",
    "key_revoke": "Revoke",
    "client_secret_new": "New secret",
    "client_secret_rotate": "Rotate a secret",
    "client_secret_expiry": "Expiry of a secret",
    "client_secret_end": "Revoke a secret",
}

# Quick start is the first tab. The settings come first here because they are an app's main page.
CLIENT_TABS = sorted(CLIENT_PAGES, key=lambda page: page.url_name != "quick_start")


@dataclass(frozen=True)
class Menus:
    """The navigation of a page: the menus of its project and app, the views of its page, and the breadcrumbs.

    `heading` is the name that the views have together. `trail` ends with the current page.
    """

    project: list[MenuEntry]
    client: list[MenuEntry]
    views: list[MenuEntry]
    heading: str
    trail: list[MenuEntry]


def menus(request: HttpRequest, membership: Membership, client: Client | None) -> Menus:
    """Return the menus of a page of a project, or of one of its apps."""
    current = (request.resolver_match and request.resolver_match.url_name) or ""
    arguments = [membership.project.public_id]
    project_menu = _menu(PROJECT_PAGES, membership, current, arguments, holder="clients" if client else "")
    pages: Sequence[Page] = PROJECT_PAGES
    client_menu: list[MenuEntry] = []
    if client is not None:
        arguments = [*arguments, client.client_id]
        pages = CLIENT_PAGES
        client_menu = _menu(CLIENT_TABS, membership, current, arguments)
    page = next((page for page in pages if page.in_menu and _mark(page, current)), None)
    return Menus(
        project=project_menu,
        client=client_menu,
        views=_views(pages, page, current, arguments) if page else [],
        heading=page.group if page else "",
        trail=_trail(pages, page, current, arguments),
    )


def _menu(
    pages: Sequence[Page], membership: Membership, current: str, arguments: list[str], holder: str = ""
) -> list[MenuEntry]:
    """Return the links that the member may open. `holder` is the page that all pages of a client belong to."""
    entries: dict[str, MenuEntry] = {}
    for page in pages:
        if not page.in_menu or not membership.is_at_least(page.role):
            continue
        label, mark = page.group or page.label, _mark(page, current, holder)
        if label not in entries:
            entries[label] = MenuEntry(label, page.url(arguments), page.icon, mark)
        elif mark:
            entries[label] = replace(entries[label], current="true")
    return list(entries.values())


def _views(pages: Sequence[Page], page: Page, current: str, arguments: list[str]) -> list[MenuEntry]:
    """Return the links to the views of a page, none for a page without views."""
    views = [other for other in pages if page.group and other.group == page.group]
    return [MenuEntry(view.view or view.label, view.url(arguments), "", _mark(view, current)) for view in views]


def _trail(pages: Sequence[Page], page: Page | None, current: str, arguments: list[str]) -> list[MenuEntry]:
    """Return the breadcrumbs below a project or an app: the page, its view, and its subpage, which is no link."""
    trail = []
    if page is not None:
        first = next(other for other in pages if other.in_menu and other.group == page.group) if page.group else page
        trail.append(MenuEntry(page.group or page.label, first.url(arguments), "", _mark(first, current)))
        if page.group and page != first:
            trail.append(MenuEntry(page.view or page.label, page.url(arguments), "", _mark(page, current)))
    names = {each.url_name: each.label for each in pages if not each.in_menu} | _SUBPAGES
    if current in names and current not in (each.url_name for each in pages if each.in_menu):
        trail.append(MenuEntry(names[current], "", "", "page"))
    return trail


def _mark(page: Page, current: str, holder: str = "") -> str:
    if page.url_name == current:
        return "page"
    return "true" if page.url_name == holder or current in page.below.split() else ""


View = Callable[..., HttpResponseBase]


def console_page(*methods: str, form_at: str = "") -> Callable[[View], View]:
    """Decorate a console view: only these methods, and only for signed-in people with a verified email address.

    `form_at` names the page with the form of a POST-only view, if it is not the nearest page above it.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if isinstance(request.user, Account) and not request.user.email_verified:
                return HttpResponseRedirect(reverse("account_email"))
            try:
                return view(request, *args, **kwargs)
            # The object or the role was lost in the meantime, so respond with 404 as for a later request.
            except InsufficientRole as demoted:
                member = demoted.member
                return _role_too_low(request, Membership(member.project, member.account, member.role), demoted.at_least)
            except RoleTooLow as refused:
                return _role_too_low(request, refused.membership, refused.at_least)
            except Gone as gone:
                raise Http404 from gone

        allowed: Sequence[str] = methods or ("GET", "HEAD")
        if methods == ("POST",):
            return never_cache(post_only(form_at)(guarded))
        return never_cache(login_required(require_http_methods(list(allowed))(guarded)))

    return decorate


def refreshes(request: HttpRequest, waits: bool) -> bool:
    """Return whether the page loads its parts again (static/js/filters.js): it waits, and nobody has stopped it."""
    return waits and request.GET.get("refresh") != "off"


def render_page(
    request: HttpRequest,
    template: str,
    membership: Membership | None = None,
    client: Client | None = None,
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    """Render a page of the console, with the project and client of its navigation."""
    frame = {
        "membership": membership,
        "project": membership.project if membership else None,
        "client": client,
        # Anyone may open the playground's redirect URL.
        "switcher": switcher_for(request.user) if isinstance(request.user, Account) else None,
        "menus": menus(request, membership, client) if membership else None,
    }
    return render(request, template, frame | context, status=status)


# The text for a member whose role is too low, by their role and the role that is needed.
_ROLE_NEEDED = {
    (Role.VIEWER, Role.DEVELOPER): "You are a viewer of this project. This needs the role developer or owner.",
    (Role.VIEWER, Role.OWNER): "You are a viewer of this project. This needs the role owner.",
    (Role.DEVELOPER, Role.OWNER): "You are a developer of this project. This needs the role owner.",
}


def _role_too_low(request: HttpRequest, membership: Membership, at_least: str) -> HttpResponse:
    """Return 403 with the member's role, the role that is needed, and the owners, who can change it."""
    owners = ProjectMember.objects.filter(project=membership.project, role=Role.OWNER).select_related("account")
    return render_page(
        request,
        "console/403.html",
        membership,
        status=403,
        role_needed=_ROLE_NEEDED[Role(membership.role), Role(at_least)],
        owners=[owner.account.email for owner in owners.order_by("pk")],
    )


def redirect_to_client(client: Client, page: str = "client_settings", anchor: str = "") -> HttpResponse:
    """Redirect to one of a client's pages, by its URL name."""
    return HttpResponseRedirect(client_page(client, page, anchor))


def render_secret_page(request: HttpRequest, template: str, *args: Any, **context: Any) -> HttpResponse:
    """Render a page that shows a secret once. `no-store` keeps it out of caches (docs/security.md#the-console)."""
    response = render_page(request, template, *args, **context)
    response["Cache-Control"] = "no-store"
    return response
