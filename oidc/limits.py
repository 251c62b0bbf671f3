"""Limits of the endpoints that apps use, keyed on what a caller can't choose.

A client is counted once it has shown a code or token of its own, so that nobody uses up another's budget with a
client id that is no secret. What is refused is counted apart, and only what is refused: whoever guesses from an address
does not shut out the others behind it. A client that proved itself answers for its own failures, wherever it runs.
"""

from django.conf import settings
from django.http import HttpRequest

from devportal.lib.client_ip import limit_key
from devportal.lib.ratelimit.limits import check_rate
from oidc.errors import TokenRefusal
from oidc.models import Client


def count_client(client: Client) -> None:
    """Count a request of `client`. Raises Throttled beyond CLIENT_REQUESTS_PER_MINUTE."""
    check_rate("client", client.client_id, settings.CLIENT_REQUESTS_PER_MINUTE)


def count_authorization(request: HttpRequest, client_id: str) -> None:
    """Count a visit to the authorization endpoint, per client and address. Raises Throttled."""
    check_rate("authorize", f"{client_id[:100]} {limit_key(request)}", settings.CLIENT_REQUESTS_PER_MINUTE)


def count_failure(request: HttpRequest, refusal: TokenRefusal | None = None) -> None:
    """Count a request that is refused. Raises Throttled.

    Of a client that proved itself: in its own CLIENT_REQUESTS_PER_MINUTE, so that nobody else behind its address meets
    a limit. Of a public client: by address and client, as anybody can name one. Else by address. The last two:
    FAILURES_PER_MINUTE.
    """
    if refusal is not None and refusal.proven:
        check_rate("client", refusal.client_id, settings.CLIENT_REQUESTS_PER_MINUTE)
    elif refusal is not None and refusal.authenticated:
        check_rate("failures", f"{limit_key(request)} {refusal.client_id}", settings.FAILURES_PER_MINUTE)
    else:
        check_rate("failures", limit_key(request), settings.FAILURES_PER_MINUTE)
