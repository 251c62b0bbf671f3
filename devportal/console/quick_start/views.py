"""A client's quick start: code that signs somebody in, with this client's values in it."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from devportal.console.access import get_client
from devportal.console.quick_start import snippets
from devportal.console.shortcuts import console_page, render_page


@console_page("GET", "HEAD")
def quick_start(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """GET …/quick-start?language=…: the steps, in one language."""
    membership, client = get_client(request, project_id, client_id)
    app = snippets.app_for(client)
    language = snippets.chosen_language(request.GET.get("language", ""), client.type)
    context: dict[str, Any] = {
        "languages": snippets.LANGUAGES,
        "language": language,
        "blocks": snippets.quick_start_blocks(app, language),
        "app": app,
        "is_registered": client.redirect_uri_allowed(app.redirect_uri),
        "lacks_secret": client.has_secret and not client.secrets.live().exists(),
    }
    return render_page(request, "console/quick_start.html", membership, client, **context)
