"""The pages of the public docs, in the order of their navigation."""

from dataclasses import dataclass

from django.urls import reverse

from devportal.docs.guides.registry import GUIDES, Guide
from oidc.apis.registry import ApiSnapshot, current_registry
from oidc.models import Client

# The path of the overview as Markdown, because the page's own path is empty.
INDEX = "index"


@dataclass(frozen=True)
class DocsPage:
    """A page at /docs/<path>, from templates/docs/<name>.html, or templates/docs/guides/ for a guide.

    `summary` is one sentence: for search, search engines and llms.txt.
    """

    name: str
    path: str
    title: str
    summary: str
    app_type: str = ""  # for quick starts: the type of client
    guide: Guide | None = None
    api: str = ""  # for the page of a declared API: its slug

    @property
    def address(self) -> str:
        """The path of the page."""
        return reverse("docs_api", args=[self.api]) if self.api else reverse(f"docs_{self.name}")

    @property
    def markdown_address(self) -> str:
        """The path of the page as Markdown."""
        return reverse("docs_markdown", args=[self.path or INDEX])


def _summary_of(guide: Guide) -> str:
    if guide.summary:
        return guide.summary
    if guide.protects:
        return f"Protect your API with {guide.libraries}: check access tokens, API keys and scopes."
    if guide.continues:
        return f"{guide.title} ({guide.libraries}): check logout tokens and security events, and end sessions."
    return f"Sign-in with {guide.title} ({guide.libraries}): from an empty folder to a request to the API and sign-out."


SECTIONS: dict[str, tuple[DocsPage, ...]] = {
    "Start": (
        DocsPage(
            "overview",
            "",
            "Overview",
            "What the sign-in service and the developer API offer, the issuer, and your first sign-in.",
        ),
        DocsPage(
            "web_app",
            "quick-start/web-app",
            "Web app on a server",
            "Sign people in to a web app on a server, with a client secret. With code in three languages.",
            Client.Type.WEB,
        ),
        DocsPage(
            "browser_app",
            "quick-start/browser-app",
            "Browser app",
            "Sign people in to an app in the browser, with PKCE and no secret.",
            Client.Type.SPA,
        ),
        DocsPage(
            "installed_app",
            "quick-start/installed-app",
            "Installed app",
            "Sign people in to a desktop, mobile or command-line app, with a redirect to a local port.",
            Client.Type.NATIVE,
        ),
        DocsPage(
            "api_key",
            "quick-start/api-key",
            "API key",
            "Read your own account from a script, without a sign-in.",
        ),
    ),
    "Guides": (
        DocsPage(
            "guides",
            "guides",
            "All guides",
            "Guides for popular frameworks, libraries and applications. Tests run the code of most guides.",
        ),
        DocsPage(
            "protect",
            "guides/protect-your-api",
            "Protect your API",
            "How your API checks access tokens and API keys: forward authentication, introspection, or signatures.",
        ),
        *(
            DocsPage(f"guide_{name}", f"guides/{name}", guide.title, _summary_of(guide), guide=guide)
            for name, guide in GUIDES.items()
        ),
    ),
    "Sign-in": (
        DocsPage(
            "authorization",
            "sign-in/authorization",
            "Authorization",
            "The authorization request: its parameters, scopes, prompt, two factors and passkeys, and the response.",
        ),
        DocsPage(
            "tokens",
            "sign-in/tokens",
            "Tokens",
            "The token endpoint: how to exchange a code and refresh, and what the ID token and access token contain.",
        ),
        DocsPage(
            "userinfo", "sign-in/userinfo", "Userinfo", "The userinfo endpoint: the claims of the granted scopes."
        ),
        DocsPage(
            "revocation",
            "sign-in/revocation",
            "Revocation",
            "The revocation endpoint: how to end the tokens of a sign-in.",
        ),
        DocsPage(
            "logout",
            "sign-in/sign-out",
            "Sign-out",
            "The sign-out endpoint: how to end the person’s session and send them back to your app.",
        ),
        DocsPage(
            "events",
            "sign-in/events",
            "Events",
            "Back-channel logout and security events: how your app learns that a person signed out, removed it or "
            "changed their account.",
        ),
        DocsPage(
            "discovery",
            "sign-in/discovery",
            "Discovery and keys",
            "The discovery document, the signing keys, and the endpoints that scripts in a browser can call.",
        ),
    ),
    "APIs": (
        DocsPage(
            "apis",
            "apis",
            "All APIs",
            "The APIs that accept access tokens and API keys of this service, with their scopes and limits.",
        ),
    ),
    "Developer API": (
        DocsPage(
            "me",
            "developer-api/me",
            "Profile",
            "GET /v1/me: the profile of the person who signed in, or of the API key’s owner.",
        ),
        DocsPage(
            "me_plan",
            "developer-api/plan",
            "Plan",
            "GET /v1/me/plan: a person’s plan and its entitlements.",
        ),
    ),
    "More": (
        DocsPage(
            "errors",
            "errors",
            "Errors",
            "Every error code of the sign-in service and the developer API, with its cause and fix.",
        ),
        DocsPage(
            "limits", "limits", "Limits", "Requests per minute, lifetimes, sizes, and how soon a change takes effect."
        ),
        DocsPage(
            "testing",
            "testing",
            "Testing and CI",
            "How to test sign-ins and API requests: a service on your machine, CI, test accounts, and tokens without a "
            "person.",
        ),
        DocsPage(
            "plans",
            "plans",
            "Plans and entitlements",
            "Plans and entitlements: which features a person has, and the states of a subscription.",
        ),
        DocsPage(
            "review",
            "review",
            "App review",
            "What apps can do before their review, how to submit an app for review, and what a review covers.",
        ),
        DocsPage(
            "notices",
            "notices",
            "Notices",
            "What we tell the members of a project, in the console and by mail, and how to choose it.",
        ),
        DocsPage(
            "counting",
            "counting",
            "How things are counted",
            "What the console counts: requests, sign-ins and people, and how a period is compared with the one before.",
        ),
        DocsPage(
            "deprecation",
            "deprecation",
            "Deprecation policy",
            "How changes that can break apps are announced, how long you have, and which headers say so.",
        ),
        DocsPage("changelog", "changelog", "Changelog", "Changes for apps, newest first, also as an Atom feed."),
    ),
}
PAGES = {page.name: page for pages in SECTIONS.values() for page in pages}


def listed_apis() -> tuple[ApiSnapshot, ...]:
    """Return the APIs that are turned on, that at `/v1` first. The docs don't mention the others."""
    return tuple(api for api in current_registry().apis.values() if api.enabled)


def api_address(api: ApiSnapshot) -> str:
    """Return the path of the page of an API. The API at `/v1` has more than one page; this is the first."""
    return reverse("docs_me") if api.is_own else reverse("docs_api", args=[api.slug])


def api_page(api: ApiSnapshot) -> DocsPage:
    """Return the page of a declared API. Its name can't be that of another page, because of the colon."""
    summary = f"{api.name}: its identifier, scopes, limits and errors."
    return DocsPage(f"api:{api.slug}", f"apis/{api.slug}", api.name, summary, api=api.slug)


def all_sections() -> dict[str, tuple[DocsPage, ...]]:
    """Return SECTIONS with the page of each declared API."""
    declared = tuple(api_page(api) for api in listed_apis() if not api.is_own)
    return SECTIONS | {"APIs": (*SECTIONS["APIs"], *declared)}


def all_pages() -> dict[str, DocsPage]:
    """Return PAGES with the page of each declared API, in the order of the navigation."""
    return {page.name: page for pages in all_sections().values() for page in pages}


@dataclass(frozen=True)
class NavLink:
    """A link in the navigation."""

    title: str
    address: str
    is_current: bool = False


def navigation(current: DocsPage | None, address: str = "") -> dict[str, list[NavLink]]:
    """Return the links of each section, for the page at `address`; `current` is None if that is not a DocsPage.

    Only the guides of the current guide's group are listed.
    """
    links = {
        section: [NavLink(page.title, page.address, page == current) for page in pages if _is_listed(page, current)]
        for section, pages in all_sections().items()
    }
    links["Developer API"] += [
        NavLink("Try it", reverse("api_try_it"), is_current=address == reverse("api_try_it")),
        NavLink("OpenAPI document", reverse("openapi")),
    ]
    return links


def _is_listed(page: DocsPage, current: DocsPage | None) -> bool:
    if page.guide is None:
        return True
    return current is not None and current.guide is not None and page.guide.group == current.guide.group


def neighbours(page: DocsPage) -> tuple[DocsPage | None, DocsPage | None]:
    """Return the pages before and after a page in the navigation, None if there is none."""
    order = list(all_pages().values())
    place = order.index(page)
    return order[place - 1] if place else None, order[place + 1] if place + 1 < len(order) else None
