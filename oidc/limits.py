"""Rate limits of the authorization, token, userinfo and revocation endpoints (docs/sign-in.md#limits).

A client's limit counts only requests with a valid code or token of that client. Client ids are public, so anyone could
use up a limit that counted by client id alone. Rejected requests have separate limits, so that someone who guesses does
not block other people behind the same IP address. Rejected requests of an authenticated client count against that
client.
"""

from django.conf import settings
from django.http import HttpRequest

from core.http.client_ip import limit_key
from core.limits import Rate, hit
from core.limits.counters import check_rate
from oidc.errors import TokenRefusal
from oidc.models import Client


def count_client(client: Client) -> None:
    """Count a request of `client`. Raises Throttled above CLIENT_REQUESTS_PER_MINUTE."""
    check_rate("client", client.client_id, settings.CLIENT_REQUESTS_PER_MINUTE)


def count_authorization(request: HttpRequest, client_id: str) -> None:
    """Count a visit to the authorization endpoint, per client and IP address. Raises RateLimited."""
    rate = Rate("authorize", settings.CLIENT_REQUESTS_PER_MINUTE, 60)
    hit(rate, client_id[:100], limit_key(request))


def count_failure(request: HttpRequest, refusal: TokenRefusal | None = None) -> None:
    """Count a rejected request. Raises Throttled.

    If the client sent a valid secret, the request counts toward its CLIENT_REQUESTS_PER_MINUTE. Otherwise it counts
    toward FAILURES_PER_MINUTE: by IP address and client id for a public client, because anyone can send that id, and
    by IP address alone if no client was authenticated.
    """
    if refusal is not None and refusal.proven:
        check_rate("client", refusal.client_id, settings.CLIENT_REQUESTS_PER_MINUTE)
    elif refusal is not None and refusal.authenticated:
        check_rate("failures", f"{limit_key(request)} {refusal.client_id}", settings.FAILURES_PER_MINUTE)
    else:
        check_rate("failures", limit_key(request), settings.FAILURES_PER_MINUTE)
