"""GET /logos/<client id>/<version>.webp: the logo of a reviewed app."""

import hmac
from functools import partial

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from core.storage.stored_files import image_response, read_file
from oidc.clients.lookup import find_client
from oidc.domains import branding

MAX_AGE = 3600  # seconds; if an approval is withdrawn, cached copies expire after this, and the URL returns 404 at once


@require_safe
def logo(request: HttpRequest, client_id: str, version: str) -> HttpResponse:
    """Serve an app's logo to anyone once the app is verified, and 404 before (docs/review.md#logos)."""
    client = find_client(client_id)
    if client is None or not client.shows_logo or client.project.is_deleted:
        raise Http404
    name = client.logo.name or ""
    if not hmac.compare_digest(version.encode(), branding.logo_version(name).encode()):
        raise Http404
    response = image_response(partial(read_file, name), f"public, max-age={MAX_AGE}")
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response
