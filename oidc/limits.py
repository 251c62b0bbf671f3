"""Limits of the endpoints that apps use, keyed on what a caller can't choose.

A client is counted once it has shown a code or token of its own, so that nobody uses up another's budget with a
client id that is no secret. What is refused is counted by address, and only what is refused: whoever guesses from an
address does not shut out the others behind it.
"""

from django.conf import settings
from django.http import HttpRequest

from devportal.lib.client_ip import limit_key
from devportal.lib.limits import check
from oidc.models import Client


def count_client(client: Client) -> None:
    """Count a request of `client`. Raises Limited beyond CLIENT_REQUESTS_PER_MINUTE."""
    check("client", client.client_id, settings.CLIENT_REQUESTS_PER_MINUTE)


def count_authorization(request: HttpRequest, client_id: str) -> None:
    """Count a visit to the authorization endpoint, per client and address. Raises Limited."""
    check("authorize", f"{client_id[:100]} {limit_key(request)}", settings.CLIENT_REQUESTS_PER_MINUTE)


def count_failure(request: HttpRequest) -> None:
    """Count a request that is refused, by address. Raises Limited beyond FAILURES_PER_MINUTE."""
    check("failures", limit_key(request), settings.FAILURES_PER_MINUTE)
