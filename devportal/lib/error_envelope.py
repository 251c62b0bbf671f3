"""The body of every error of the developer API, and where the errors of the service are documented."""

from django.conf import settings

from devportal.lib import request_id


def docs_url(anchor: str = "") -> str:
    """Return the address of the page of errors, or of one entry of it; the docs are on AUTH_URL's host."""
    return f"{settings.AUTH_URL}{settings.ERRORS_PATH}" + (f"#{anchor}" if anchor else "")


def envelope(code: str, message: str) -> dict[str, dict[str, str]]:
    """Return the body of an error; `request_id` is that of the answer's X-Request-ID."""
    return {
        "error": {
            "code": code,
            "message": message,
            "request_id": request_id.current(),
            "docs_url": docs_url(f"api-{code}"),
        }
    }
