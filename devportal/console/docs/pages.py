"""Which pages the public docs have, in the order of their navigation."""

from dataclasses import dataclass

from oidc.models import Client


@dataclass(frozen=True)
class DocsPage:
    """A page at /docs/<path>, from templates/docs/<name>.html."""

    name: str
    path: str
    title: str
    app_type: str = ""  # of quick starts: the type of client that it is for


SECTIONS: dict[str, tuple[DocsPage, ...]] = {
    "Start": (
        DocsPage("overview", "", "Overview"),
        DocsPage("web_app", "quick-start/web-app", "Web app on a server", Client.Type.WEB),
        DocsPage("browser_app", "quick-start/browser-app", "Browser app", Client.Type.SPA),
        DocsPage("installed_app", "quick-start/installed-app", "Installed app", Client.Type.NATIVE),
        DocsPage("api_key", "quick-start/api-key", "API key"),
    ),
    "Sign-in": (
        DocsPage("authorization", "sign-in/authorization", "Authorization"),
        DocsPage("tokens", "sign-in/tokens", "Tokens"),
        DocsPage("userinfo", "sign-in/userinfo", "Userinfo"),
        DocsPage("revocation", "sign-in/revocation", "Revocation"),
        DocsPage("logout", "sign-in/sign-out", "Sign-out"),
        DocsPage("discovery", "sign-in/discovery", "Discovery and keys"),
    ),
    "Developer API": (
        DocsPage("me", "developer-api/me", "Profile"),
        DocsPage("me_plan", "developer-api/plan", "Plan"),
    ),
    "More": (
        DocsPage("errors", "errors", "Errors"),
        DocsPage("limits", "limits", "Limits"),
        DocsPage("plans", "plans", "Plans and entitlements"),
        DocsPage("review", "review", "App review"),
        DocsPage("changelog", "changelog", "Changelog"),
    ),
}
PAGES = {page.name: page for pages in SECTIONS.values() for page in pages}
