"""Context processors of all pages."""

from django.conf import settings
from django.http import HttpRequest

from devportal.lib import passkeys, split_hosts


def service_name(request: HttpRequest) -> dict[str, str]:
    """Return the service's name for templates."""
    return {"service_name": settings.SERVICE_NAME}


def this_host(request: HttpRequest) -> dict[str, bool]:
    """Return whether the page's host is the admin's alone, and whether people's passkeys work there."""
    return {
        "on_admin_host": split_hosts.serves_only(request, split_hosts.ADMIN),
        "passkeys_work": passkeys.work_on(request),
    }
