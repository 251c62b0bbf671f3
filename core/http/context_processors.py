"""Context processors of all pages."""

from django.conf import settings
from django.http import HttpRequest

from core.http import hosts, split_hosts


def service(request: HttpRequest) -> dict[str, str]:
    """Return the service's name and the URLs of its help, terms and plans (each may be "")."""
    return {
        "service_name": settings.SERVICE_NAME,
        "support_email": settings.SUPPORT_EMAIL,
        "help_url": settings.HELP_URL,
        "privacy_url": settings.PRIVACY_URL,
        "terms_url": settings.TERMS_URL,
        "plans_url": settings.PLANS_URL,
    }


def this_host(request: HttpRequest) -> dict[str, bool]:
    """Return whether the page's host serves only the admin, and whether people's passkeys work on it."""
    return {
        "on_admin_host": split_hosts.serves_only(request, split_hosts.ADMIN),
        "passkeys_work": hosts.work_on(request),
    }
