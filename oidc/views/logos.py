"""GET /logos/<client id>/<version>.webp: the logo of a reviewed app."""

import hmac

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest
from django.views.decorators.http import require_safe

from oidc.clients import logos
from oidc.clients.lookup import find_client

MAX_AGE = 3600  # seconds; after a withdrawn approval the URL is 404 at once, cached copies expire after this


def send_logo(name: str) -> FileResponse:
    """Return a response with a stored logo. Raises Http404 if the file is missing."""
    try:
        file: File[bytes] = default_storage.open(name, "rb")
    except FileNotFoundError as error:  # a backup without its files
        raise Http404 from error
    return FileResponse(file, content_type="image/webp")


@require_safe
def logo(request: HttpRequest, client_id: str, version: str) -> FileResponse:
    """Serve an app's logo to anybody once the app is verified; 404 until then (docs/review.md#logos)."""
    client = find_client(client_id)
    if client is None or not client.shows_logo or client.project.is_deleted:
        raise Http404
    name = client.logo.name or ""
    if not hmac.compare_digest(version.encode(), logos.logo_version(name).encode()):
        raise Http404
    response = send_logo(name)
    response["Cache-Control"] = f"public, max-age={MAX_AGE}"
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response
