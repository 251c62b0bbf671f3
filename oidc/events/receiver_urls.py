"""Which URLs may receive events: https on a proven domain, or on the host of a redirect URI (docs/events.md#urls)."""

from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError

from core.http.hosts import is_loopback
from core.outbound.targets import HTTPS_PORT
from oidc.clients.domain_names import domains_of, hosts_of, is_covered
from oidc.clients.reviewed_hosts import approved_among
from oidc.models import Client
from oidc.values.redirect_uris import RULES, apply_rules, is_own_address

OWN_ADDRESS = "This URL belongs to the service itself. Enter a URL of your app."
FOREIGN_HOST = (
    "{host} is neither the host of one of the app’s redirect URLs nor on a domain that your project has proven. Use "
    "such a host, or prove the domain first."
)
OUTSIDE_REVIEW = (
    "{host} is outside of what the app’s review covers, so it can’t learn about the people of the reviewed app. Use a "
    "host of its review, or have the app reviewed again."
)
NO_LOOPBACK = "Events can’t be sent to this machine. Enter an https URL that is reachable from the internet."
LOOPBACK_BEFORE_REVIEW = (
    "Events of a reviewed app can’t be sent to this machine: only an app that is not reviewed may receive them here. "
    "Enter an https URL that is reachable from the internet."
)
PLAYGROUND_BEFORE_REVIEW = (
    "The playground shows the events to the project’s developers, so it receives none of a reviewed app, whose events "
    "are about many people. Use another app to test."
)
ONLY_HTTPS = "Enter a URL that begins with https://."
ONLY_443 = "Only port 443, the port of https, is used. Remove the port."


def playground_receiver_url() -> str:
    """Return the URL of the playground's receiver, the only one of this service that a client may use, before review.

    Nothing is requested there: `oidc.signals.playground_delivery` hands over what is delivered.
    """
    return f"{settings.AUTH_URL}{settings.PLAYGROUND_EVENTS_PATH}"


def may_use_playground(client: Client) -> bool:
    """Return whether the playground may receive the client's events, which its developers then read."""
    return not client.is_verified and not client.first_party


def may_be_loopback(client: Client) -> bool:
    """Return whether events may go to this machine: those of apps in development, in the embedded environment."""
    return settings.EMBEDDED and not client.is_verified


def check_receiver_url(client: Client, url: str) -> None:
    """Raise ValidationError, with the exact reason, unless the client may receive events at `url` now.

    The client's redirect URIs and the domains of its project decide, so call it again before each request.
    """
    if url == playground_receiver_url():
        if not may_use_playground(client):
            raise ValidationError(PLAYGROUND_BEFORE_REVIEW)
        return
    apply_rules(RULES, url)
    if is_own_address(url):  # also the playground's redirect URI
        raise ValidationError(OWN_ADDRESS)
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host):
        if not may_be_loopback(client):
            raise ValidationError(LOOPBACK_BEFORE_REVIEW if settings.EMBEDDED else NO_LOOPBACK)
        return
    if parts.scheme != "https":
        raise ValidationError(ONLY_HTTPS)
    if parts.port not in (None, HTTPS_PORT) and not may_be_loopback(client):
        raise ValidationError(ONLY_443)
    if host not in hosts_of(client.registered_redirect_uris) and not is_covered(host, domains_of(client.project)):
        raise ValidationError(FOREIGN_HOST.format(host=host))
    if _is_outside_review(client, host):
        raise ValidationError(OUTSIDE_REVIEW.format(host=host))


def _is_outside_review(client: Client, host: str) -> bool:
    """Return whether the app is reviewed, but not at this host (docs/review.md#hosts)."""
    if not client.is_verified or client.first_party or host in client.reviewed_hosts.split():
        return False
    return not is_covered(host, approved_among(client, domains_of(client.project)))
