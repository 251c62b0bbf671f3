"""The body of every error of the developer API, and where the errors of the service are documented."""

from django.conf import settings
from django.http import HttpResponse


def docs_url(anchor: str = "") -> str:
    """Return the URL of the page of errors, or of one entry of it; the docs are on AUTH_URL's host."""
    return f"{settings.AUTH_URL}{settings.ERRORS_PATH}" + (f"#{anchor}" if anchor else "")


def envelope(code: str, message: str) -> dict[str, dict[str, str]]:
    """Return the body of an error."""
    return {"error": {"code": code, "message": message}}


def link_to_docs(response: HttpResponse, code: str) -> None:
    """Set the Link header (RFC 8288) that leads to the documentation of an error."""
    response["Link"] = docs_link(code)


def docs_link(code: str) -> str:
    """Return the value of that header."""
    return f'<{docs_url(f"api-{code}")}>; rel="help"'
