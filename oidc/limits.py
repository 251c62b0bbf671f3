"""Rate limits of the authorization, token, userinfo and revocation endpoints (docs/sign-in.md#limits).

The limit of a client counts requests with a valid code or token of that client: a client id is public, so that anybody
could use up a limit by client id alone. Refused requests have limits of their own, so that somebody who guesses does
not block others behind the same IP address; those of an authenticated client count against that client.
"""

from django.conf import settings
from django.http import HttpRequest

from core.http.client_ip import limit_key
from core.limits import Rate, hit
from core.limits.limits import check_rate
from oidc.errors import TokenRefusal
from oidc.models import Client


def count_client(client: Client) -> None:
    """Count a request of `client`. Raises Throttled beyond CLIENT_REQUESTS_PER_MINUTE."""
    check_rate("client", client.client_id, settings.CLIENT_REQUESTS_PER_MINUTE)


def count_authorization(request: HttpRequest, client_id: str) -> None:
    """Count a visit to the authorization endpoint, per client and address. Raises RateLimited."""
    rate = Rate("authorize", settings.CLIENT_REQUESTS_PER_MINUTE, 60)
    hit(rate, client_id[:100], limit_key(request))


def count_failure(request: HttpRequest, refusal: TokenRefusal | None = None) -> None:
    """Count a request that is refused. Raises Throttled.

    Of a client authenticated by its secret: within its CLIENT_REQUESTS_PER_MINUTE. Of a public client: by IP address
    and client id, as anybody can send that id. Otherwise: by IP address. The last two: FAILURES_PER_MINUTE.
    """
    if refusal is not None and refusal.proven:
        check_rate("client", refusal.client_id, settings.CLIENT_REQUESTS_PER_MINUTE)
    elif refusal is not None and refusal.authenticated:
        check_rate("failures", f"{limit_key(request)} {refusal.client_id}", settings.FAILURES_PER_MINUTE)
    else:
        check_rate("failures", limit_key(request), settings.FAILURES_PER_MINUTE)
