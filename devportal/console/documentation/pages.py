"""Which pages the public docs have, in the order of their navigation."""

from dataclasses import dataclass

from oidc.models import Client


@dataclass(frozen=True)
class Page:
    """A page at /docs/<path>, from templates/docs/<name>.html."""

    name: str
    path: str
    title: str
    app_type: str = ""  # of quick starts: the type of client that it is for


SECTIONS: dict[str, tuple[Page, ...]] = {
    "Start": (
        Page("overview", "", "Overview"),
        Page("web_app", "quick-start/web-app", "Web app on a server", Client.Type.WEB),
        Page("browser_app", "quick-start/browser-app", "Browser app", Client.Type.SPA),
        Page("installed_app", "quick-start/installed-app", "Installed app", Client.Type.NATIVE),
        Page("api_key", "quick-start/api-key", "API key"),
    ),
    "Sign-in": (
        Page("authorization", "sign-in/authorization", "Authorization"),
        Page("tokens", "sign-in/tokens", "Tokens"),
        Page("userinfo", "sign-in/userinfo", "Userinfo"),
        Page("revocation", "sign-in/revocation", "Revocation"),
        Page("logout", "sign-in/sign-out", "Sign-out"),
        Page("discovery", "sign-in/discovery", "Discovery and keys"),
    ),
    "Developer API": (
        Page("me", "developer-api/me", "Profile"),
        Page("me_plan", "developer-api/plan", "Plan"),
    ),
    "More": (
        Page("errors", "errors", "Errors"),
        Page("limits", "limits", "Limits"),
        Page("plans", "plans", "Plans and entitlements"),
        Page("review", "review", "App review"),
        Page("changelog", "changelog", "Changelog"),
    ),
}
PAGES = {page.name: page for pages in SECTIONS.values() for page in pages}
