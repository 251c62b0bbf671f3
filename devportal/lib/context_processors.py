"""What every page shows of the service itself."""

from django.conf import settings
from django.http import HttpRequest


def service_name(request: HttpRequest) -> dict[str, str]:
    """Context processor: the service's name."""
    return {"service_name": settings.SERVICE_NAME}
