"""A client's quick start: runnable code with the client's values filled in."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from devportal.console.access import get_client
from devportal.console.navigation import console_page, render_page
from devportal.docs.guides.registry import guides_for
from oidc.models import Client
from oidc.values.redirect_uris import LOOPBACK_HOSTS

# The templates in templates/snippets/ get nothing but finished literals of their language: whatever a value holds, it
# stays inside its quotes. Secrets are never among the values; the code takes them from the environment.

LANGUAGES = {"curl": "curl", "python": "Python", "javascript": "JavaScript"}
SUGGESTED_REDIRECT_URI = "http://localhost:3000/callback"
PASTE = (
    "Paste it and press Enter. The terminal does not show it, and your shell does not store it in its history. "
    "In PowerShell 7, run this instead: $env:{variable} = Read-Host -MaskInput"
)
ANSWER_NOTE = (
    "Open the URL in a browser and sign in. The browser then opens your redirect URL, where no app is running yet. "
    "Run this, paste the URL from the address bar, and press Enter."
)
AT_THE_APP = "Open the URL that the terminal shows. After you have signed in, the page shows who you are."
AT_THE_SERVICE = "Open the URL that the terminal shows, and sign in. The terminal then shows who you are."
# Control characters C0 and C1, which a terminal would interpret when they are pasted.
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class QuickStartApp:
    """The values of a client that a quick start uses."""

    type: str
    client_id: str
    redirect_uri: str

    @property
    def has_secret(self) -> bool:
        return self.type == Client.Type.WEB


@dataclass(frozen=True)
class CodeBlock:
    """One step. With `file` its code is saved under that name, otherwise it is pasted into a terminal.

    `language` is the code's, as Pygments names it.
    """

    title: str
    code: str = ""
    file: str = ""
    language: str = "bash"
    note: str = ""
    is_install: bool = False


# --- Literals ---


def shell_string(text: str) -> str:
    """Return `text` as a single-quoted word of a POSIX shell."""
    return "'" + CONTROLS.sub("", text).replace("'", "'\"'\"'") + "'"


def python_string(text: str) -> str:
    """Return `text` as a Python string literal; invisible and bidirectional control characters are escaped."""
    escaped = "".join(
        character if character.isprintable() and character not in '"\\' else _python_escape(character)
        for character in text
    )
    return f'"{escaped}"'


def _python_escape(character: str) -> str:
    return f"\\{character}" if character in '"\\' else f"\\U{ord(character):08x}"


def javascript_string(text: str) -> str:
    """Return `text` as a JavaScript string literal that is safe inside a script element too."""
    return json.dumps(text).replace("<", "\\u003c").replace(">", "\\u003e")


# --- Quick starts ---


def app_for(client: Client) -> QuickStartApp:
    """Return the values for a client's quick start, with its first loopback redirect URI or a suggested one."""
    loopback = (uri for uri in client.registered_redirect_uris if is_loopback_uri(uri))
    return QuickStartApp(client.type, client.client_id, next(loopback, SUGGESTED_REDIRECT_URI))


def is_loopback_uri(uri: str) -> bool:
    """Return whether a program on the developer's machine can listen at `uri` without TLS."""
    parts = urlsplit(uri)
    return parts.scheme == "http" and parts.hostname in LOOPBACK_HOSTS


def chosen_language(asked: str, app_type: str) -> str:
    """Return the requested language, or the default one of the client type."""
    usual = "javascript" if app_type == Client.Type.SPA else "python"
    return asked if asked in LANGUAGES else usual


def quick_start_blocks(app: QuickStartApp, language: str) -> list[CodeBlock]:
    """Return the quick start of an app in one of LANGUAGES, step by step. Raises KeyError for another language."""
    return _QUICK_STARTS[language](app)


def api_key_blocks() -> list[CodeBlock]:
    """Return the call with an API key."""
    return [
        _enter("Put the key into the environment", "API_KEY"),
        CodeBlock("Read your profile", _render("curl_key", shell_string)),
    ]


def shell_example(name: str) -> str:
    """Return a request of the reference pages as a shell command with variables."""
    return _render(f"example_{name}", shell_string)


def _render(name: str, literal: Callable[[str], str], app: QuickStartApp | None = None) -> str:
    """Return a template of templates/snippets/ with every value as a literal."""
    values = {
        "issuer": settings.ISSUER,
        "authorization_endpoint": f"{settings.AUTH_URL}/connect/authorize",
        "token_endpoint": f"{settings.AUTH_URL}/connect/token",
        "userinfo_endpoint": f"{settings.AUTH_URL}/connect/userinfo",
        "revocation_endpoint": f"{settings.AUTH_URL}/connect/revoke",
        "discovery_endpoint": f"{settings.ISSUER}.well-known/openid-configuration",
        "jwks_endpoint": f"{settings.AUTH_URL}/.well-known/jwks",
        "me_endpoint": f"{settings.BASE_URL}/v1/me",
        "plan_endpoint": f"{settings.BASE_URL}/v1/me/plan",
    }
    if app:
        values |= {"client_id": app.client_id, "redirect_uri": app.redirect_uri}
    context: dict[str, Any] = {name: literal(value) for name, value in values.items()}
    context["suggested_redirect_uri"] = SUGGESTED_REDIRECT_URI
    context["insecure"] = settings.ISSUER.startswith("http://")
    if app:
        context["has_secret"] = app.has_secret
        # Percent-encoded, they are safe in any quotes.
        context["client_id_encoded"] = quote(app.client_id, safe="")
        context["redirect_uri_encoded"] = quote(app.redirect_uri, safe="", errors="replace")
    return render_to_string(f"snippets/{name}.txt", context).strip("\n")


def _secret(app: QuickStartApp) -> list[CodeBlock]:
    return [_enter("Put the client secret into the environment", "CLIENT_SECRET")] if app.has_secret else []


def _enter(title: str, variable: str) -> CodeBlock:
    """Return the step that reads a secret at a prompt that does not show it."""
    return CodeBlock(title, f"read -rs {variable}; export {variable}", note=PASTE.format(variable=variable))


def _curl(app: QuickStartApp) -> list[CodeBlock]:
    def block(title: str, name: str, note: str = "") -> CodeBlock:
        return CodeBlock(title, _render(f"curl_{name}", shell_string, app), note=note)

    return [
        *_secret(app),
        block("Print the URL of a sign-in request", "authorize"),
        block("Sign in, and paste the response", "answer", ANSWER_NOTE),
        block("Exchange the code", "exchange", f"It expires after {settings.AUTHORIZATION_CODE_SECONDS} seconds."),
        block("Read who signed in", "call"),
        block("Refresh", "refresh"),
    ]


def _python(app: QuickStartApp) -> list[CodeBlock]:
    template = "python_web" if app.has_secret else "python_native"
    return [
        *_secret(app),
        CodeBlock("Install the libraries", "python3 -m pip install authlib requests", is_install=True),
        CodeBlock("Save the app", _render(template, python_string, app), file="sign_in.py", language="python"),
        CodeBlock("Run it", "python3 sign_in.py"),
        CodeBlock("Sign in", note=AT_THE_APP if app.has_secret else AT_THE_SERVICE),
    ]


def _node_install(library: str) -> CodeBlock:
    # Without a package.json in this folder, npm installs into the next folder above that has one.
    own_folder = "mkdir my-app\ncd my-app\nnpm init -y"
    note = "Save the files below in this folder."
    return CodeBlock("Install the library", f"{own_folder}\nnpm install {library}", note=note, is_install=True)


def _javascript(app: QuickStartApp) -> list[CodeBlock]:
    if app.type == Client.Type.SPA:
        return [
            _node_install("oidc-client-ts@3"),
            CodeBlock(
                "Save the page",
                _render("javascript_spa_page", javascript_string, app),
                file="index.html",
                language="html",
            ),
            CodeBlock(
                "Save its script",
                _render("javascript_spa_app", javascript_string, app),
                file="app.js",
                language="javascript",
            ),
            CodeBlock(
                "Save a server for it",
                _render("javascript_spa_server", javascript_string, app),
                file="server.mjs",
                language="javascript",
            ),
            CodeBlock("Run it", "node server.mjs"),
            CodeBlock("Sign in", note="Open the URL that the terminal shows, and press the button."),
        ]
    template = "javascript_web" if app.has_secret else "javascript_native"
    return [
        *_secret(app),
        _node_install("openid-client@6"),
        CodeBlock("Save the app", _render(template, javascript_string, app), file="sign-in.mjs", language="javascript"),
        CodeBlock("Run it", "node sign-in.mjs"),
        CodeBlock("Sign in", note=AT_THE_APP if app.has_secret else AT_THE_SERVICE),
    ]


_QUICK_STARTS: dict[str, Callable[[QuickStartApp], list[CodeBlock]]] = {
    "curl": _curl,
    "python": _python,
    "javascript": _javascript,
}


@console_page("GET", "HEAD")
def quick_start(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """GET …/quick-start?language=…: the steps, in one language."""
    membership, client = get_client(request, project_id, client_id)
    app = app_for(client)
    language = chosen_language(request.GET.get("language", ""), client.type)
    context: dict[str, Any] = {
        "languages": LANGUAGES,
        "language": language,
        "blocks": quick_start_blocks(app, language),
        "app": app,
        "guides": guides_for(client.type),
        "is_registered": client.redirect_uri_allowed(app.redirect_uri),
        "lacks_secret": client.has_secret and not client.secrets.live().exists(),
    }
    return render_page(request, "console/quick_start.html", membership, client, **context)
