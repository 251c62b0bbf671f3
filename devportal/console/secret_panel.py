"""The page that shows a new secret once, with a `.env` file to download."""

import shlex
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from api.models import ApiKey
from devportal.console.access import Membership
from devportal.console.shortcuts import render_secret_page
from oidc.clients.redirect_uris import playground_redirect_uri
from oidc.models import Client


@dataclass(frozen=True)
class SecretPanel:
    """A new secret and the texts of its page. It is never stored, logged or shown again."""

    title: str
    what: str  # "client secret", as the page calls it
    raw: str
    env: str  # the lines of a .env file
    file_name: str  # of the download; browsers change names that begin with a dot
    done_url: str
    command: str = ""  # a shell command that tries it


def show_client_secret(
    request: HttpRequest, membership: Membership, client: Client, raw: str, title: str
) -> HttpResponse:
    """Render the page with a client's new secret."""
    # The variables that the sample app, the quick starts and the guides read.
    lines = {
        "OIDC_ISSUER": settings.ISSUER,
        "CLIENT_ID": client.client_id,
        "CLIENT_SECRET": raw,
        "REDIRECT_URI": next((uri for uri in client.registered_redirect_uris if uri != playground_redirect_uri()), ""),
        "API_URL": settings.BASE_URL,
    }
    done = reverse("console:quick_start", args=[membership.project.public_id, client.client_id])
    panel = SecretPanel(title, "client secret", raw, _env(lines), "client.env", done)
    return render_secret_page(request, "console/secret_once.html", membership, client, panel=panel)


def show_api_key(request: HttpRequest, membership: Membership, key: ApiKey, raw: str) -> HttpResponse:
    """Render the page with a new API key."""
    done = reverse("console:keys", args=[membership.project.public_id])
    command = (
        f"""export API_KEY='{raw}'\ncurl -sS -H "Authorization: Bearer $API_KEY" {settings.BASE_URL}/v1/me; echo"""
    )
    panel = SecretPanel(f"{key.name} is created", "API key", raw, _env({"API_KEY": raw}), "api-key.env", done, command)
    return render_secret_page(request, "console/secret_once.html", membership, panel=panel)


def _env(lines: dict[str, str]) -> str:
    # Values are quoted only if a shell needs it, because some parsers of .env files keep quotes.
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in lines.items())
