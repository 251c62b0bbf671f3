"""Context processor of all pages."""

from django.conf import settings
from django.http import HttpRequest


def service_name(request: HttpRequest) -> dict[str, str]:
    """Return the service's name for templates."""
    return {"service_name": settings.SERVICE_NAME}
