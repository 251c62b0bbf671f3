"""The guides in the order of their index, and the last test run of each."""

import functools
import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from oidc.models import Client

FILE = Path(__file__).with_name("runs.json")


@dataclass(frozen=True)
class GuideRun:
    """The last run of a guide, recorded by its test: the day (UTC), and versions by library."""

    day: date
    versions: dict[str, str]


@functools.cache
def read_runs() -> dict[str, GuideRun]:
    """Return the runs by the name of their guide."""
    written = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: GuideRun(date.fromisoformat(run["day"]), run["versions"]) for name, run in written.items()}


@dataclass(frozen=True)
class Guide:
    """A guide at /docs/guides/<name>, from templates/docs/guides/<name>.html; its code in templates/snippets/guides/.

    `redirect_uri` is where the guide's code listens. A test in tests/guides/ runs each guide with `is_run`; the others
    were only compared with the documentation of their libraries.
    """

    name: str
    title: str
    group: str  # its heading in the index
    links: dict[str, str]  # the libraries that it uses, and the URLs of their own pages
    redirect_uri: str = "http://localhost:3000/callback"
    app_type: str = Client.Type.WEB
    signed_out_path: str = "/"
    protects: bool = False  # for authors of APIs: the code checks tokens instead of signing people in
    continues: str = ""  # the name of the guide whose app it extends
    is_run: bool = True
    summary: str = ""  # for search, if the libraries don't say enough

    @property
    def libraries(self) -> str:
        *most, last = self.links or [""]
        return " and ".join([", ".join(most), last]) if most else last

    @property
    def has_claimed_link(self) -> bool:
        """Whether the code runs at a host of the reader's, and not at a port of the developer's machine."""
        return self.redirect_uri.startswith("https://")

    @property
    def continued(self) -> "Guide | None":
        """The guide whose app it extends."""
        return GUIDES.get(self.continues)

    @property
    def signed_out_uri(self) -> str:
        parts = urlsplit(self.redirect_uri)
        return f"{parts.scheme}://{parts.netloc}{self.signed_out_path}"


PROTECT = "Protect your API"  # a group
RECEIVE = "Receive events"  # another


def _protecting(name: str, title: str, links: dict[str, str]) -> Guide:
    """Return a guide for authors of APIs. It needs no client; `redirect_uri` only has the port of its code."""
    return Guide(f"protect-{name}", title, PROTECT, links, redirect_uri="http://localhost:3100", protects=True)


def _receiving(name: str, title: str, links: dict[str, str], continues: str = "", **keys: Any) -> Guide:
    """Return a guide to receive logout tokens and security events, for the app of another guide."""
    title = f"Events with {title}"
    return Guide(f"events-{name}", title, RECEIVE, links, continues=continues or name, **keys)


def _browser_app(name: str, title: str, links: dict[str, str], **keys: Any) -> Guide:
    """Return a guide for a browser app that signs people in with oidc-client-ts."""
    library = {"oidc-client-ts": "https://authts.github.io/oidc-client-ts/"}
    return Guide(name, title, "JavaScript", library | links, app_type=Client.Type.SPA, **keys)


_AUTHLIB = {"Authlib": "https://docs.authlib.org/"}

_ALL = (
    Guide(
        "nextjs",
        "Next.js",
        "JavaScript",
        {"Auth.js (next-auth)": "https://authjs.dev/reference/nextjs"},
        redirect_uri="http://localhost:3000/api/auth/callback/service",
    ),
    _browser_app("react", "React", {"Vite": "https://vite.dev/guide/"}),
    _browser_app("vue", "Vue", {"Vue": "https://vuejs.org/guide/quick-start.html"}),
    _browser_app("svelte", "Svelte", {"Svelte": "https://svelte.dev/docs/svelte/overview"}),
    _browser_app("angular", "Angular", {"Angular": "https://angular.dev/installation"}, is_run=False),
    Guide("express", "Express", "JavaScript", {"openid-client": "https://github.com/panva/openid-client"}),
    Guide("node", "Node without a framework", "JavaScript", {"oauth4webapi": "https://github.com/panva/oauth4webapi"}),
    Guide(
        "django-allauth",
        "Django with allauth",
        "Python",
        {"django-allauth": "https://docs.allauth.org/en/latest/socialaccount/providers/openid_connect.html"},
        redirect_uri="http://localhost:3000/accounts/oidc/service/login/callback/",
    ),
    Guide(
        "django-mozilla",
        "Django with mozilla-django-oidc",
        "Python",
        {"mozilla-django-oidc": "https://mozilla-django-oidc.readthedocs.io/"},
        redirect_uri="http://localhost:3000/oidc/callback/",
    ),
    Guide("fastapi", "FastAPI", "Python", _AUTHLIB),
    Guide("flask", "Flask", "Python", _AUTHLIB),
    Guide(
        "go",
        "Go",
        "Go",
        {
            "coreos/go-oidc": "https://pkg.go.dev/github.com/coreos/go-oidc/v3/oidc",
            "x/oauth2": "https://pkg.go.dev/golang.org/x/oauth2",
        },
    ),
    Guide(
        "spring",
        "Spring Boot",
        "Java",
        {
            "Spring Security’s OAuth 2.0 client": (
                "https://docs.spring.io/spring-security/reference/servlet/oauth2/client/index.html"
            )
        },
        redirect_uri="http://localhost:3000/login/oauth2/code/service",
    ),
    Guide(
        "spring-resource",
        "An API with Spring",
        "Java",
        {
            "Spring Security’s resource server": (
                "https://docs.spring.io/spring-security/reference/servlet/oauth2/resource-server/index.html"
            )
        },
    ),
    Guide(
        "nimbus",
        "Java without a framework",
        "Java",
        {"Nimbus’ oauth2-oidc-sdk": "https://connect2id.com/products/nimbus-oauth-openid-connect-sdk"},
    ),
    Guide(
        "rails",
        "Rails",
        "Ruby",
        {"omniauth_openid_connect": "https://github.com/omniauth/omniauth_openid_connect"},
        redirect_uri="http://localhost:3000/auth/service/callback",
    ),
    Guide(
        "aspnet",
        "ASP.NET Core",
        ".NET",
        {
            "ASP.NET Core’s OpenID Connect handler": (
                "https://learn.microsoft.com/aspnet/core/security/authentication/configure-oidc-web-authentication"
            )
        },
        redirect_uri="http://localhost:3000/signin-oidc",
        signed_out_path="/signout-callback-oidc",
        is_run=False,
    ),
    Guide(
        "laravel",
        "Laravel",
        "PHP",
        {"laravel-socialite-oidc": "https://github.com/kovah/laravel-socialite-oidc"},
        redirect_uri="http://localhost:3000/auth/callback",
        is_run=False,
    ),
    Guide(
        "symfony",
        "Symfony",
        "PHP",
        {"symfony-oidc-bundle": "https://github.com/Drenso/symfony-oidc"},
        redirect_uri="http://localhost:3000/login_check",
        is_run=False,
    ),
    Guide(
        "mobile",
        "Mobile app",
        "Mobile",
        {
            "AppAuth for iOS": "https://github.com/openid/AppAuth-iOS",
            "AppAuth for Android": "https://github.com/openid/AppAuth-Android",
            "flutter_appauth": "https://pub.dev/packages/flutter_appauth",
            "react-native-app-auth": "https://github.com/FormidableLabs/react-native-app-auth",
        },
        redirect_uri="https://app.example.com/callback",
        app_type=Client.Type.NATIVE,
        signed_out_path="/signed-out",
        is_run=False,
        summary="Sign-in in apps for iOS and Android, also with Flutter and React Native, and the association files.",
    ),
    Guide(
        "terminal",
        "Terminal tools",
        "Terminal",
        {"oidc-agent": "https://github.com/indigo-dc/oidc-agent"},
        redirect_uri="http://localhost:3000",
        app_type=Client.Type.NATIVE,
        signed_out_path="",
    ),
    Guide(
        "apache",
        "Apache",
        "Servers",
        {"mod_auth_openidc": "https://github.com/OpenIDC/mod_auth_openidc"},
        signed_out_path="/signed-out.html",
    ),
    Guide(
        "applications",
        "Ready-made applications",
        "Applications",
        {},
        redirect_uri="https://app.example.com/callback",
        summary="Sign-in for self-hosted applications, such as JupyterHub, Grafana, GitLab and Nextcloud, with PKCE.",
    ),
    _protecting(
        "nginx",
        "An API behind nginx",
        {"nginx’ auth_request": "https://nginx.org/en/docs/http/ngx_http_auth_request_module.html"},
    ),
    _protecting(
        "caddy",
        "An API behind Caddy",
        {"Caddy’s forward_auth": "https://caddyserver.com/docs/caddyfile/directives/forward_auth"},
    ),
    _protecting(
        "fastapi",
        "An API with FastAPI",
        {"FastAPI": "https://fastapi.tiangolo.com/", "PyJWT": "https://pyjwt.readthedocs.io/en/stable/"},
    ),
    _protecting(
        "django",
        "An API with Django REST framework",
        {
            "Django REST framework": "https://www.django-rest-framework.org/",
            "django-oauth-toolkit": "https://django-oauth-toolkit.readthedocs.io/en/latest/resource_server.html",
        },
    ),
    _protecting(
        "express",
        "An API with Express",
        {"Express": "https://expressjs.com/", "jose": "https://github.com/panva/jose"},
    ),
    _protecting("go", "An API with Go", {"coreos/go-oidc": "https://pkg.go.dev/github.com/coreos/go-oidc/v3/oidc"}),
    _protecting(
        "spring",
        "An API with Spring Boot",
        {
            "Spring Security’s resource server": (
                "https://docs.spring.io/spring-security/reference/servlet/oauth2/resource-server/index.html"
            )
        },
    ),
    _receiving("express", "Express", {"jose": "https://github.com/panva/jose"}),
    _receiving(
        "django",
        "Django",
        {"PyJWT": "https://pyjwt.readthedocs.io/en/stable/"},
        continues="django-mozilla",
        redirect_uri="http://localhost:3000/oidc/callback/",
    ),
    _receiving("fastapi", "FastAPI", {"PyJWT": "https://pyjwt.readthedocs.io/en/stable/"}),
)
GUIDES: dict[str, Guide] = {guide.name: guide for guide in _ALL}


def guides_for(app_type: str) -> list[Guide]:
    """Return the guides that sign people in to a type of client, in their order."""
    return [one for one in GUIDES.values() if one.app_type == app_type and not one.protects and not one.continues]


def groups() -> dict[str, list[Guide]]:
    """Return the guides by group, in their order."""
    found: dict[str, list[Guide]] = {}
    for guide in GUIDES.values():
        found.setdefault(guide.group, []).append(guide)
    return found
