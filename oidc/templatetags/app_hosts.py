"""Template filters for the hosts of an app that its review does not cover."""

from django import template

from oidc.clients import reviewed_hosts
from oidc.models import Client

register = template.Library()


@register.filter
def outside_hosts(client: Client) -> list[str]:
    """Return the redirect URI hosts at which people see a reviewed app as not reviewed (docs/review.md#hosts)."""
    return reviewed_hosts.outside_hosts(client)


@register.filter
def home_host(client: Client) -> str:
    """Return the host of the app's home page, which the badge names (docs/review.md#hosts)."""
    return reviewed_hosts.home_host(client)
