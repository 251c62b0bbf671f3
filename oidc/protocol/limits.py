"""Rate limits of the authorization, token, userinfo and revocation endpoints (docs/sign-in.md#limits).

A client's limit counts only requests with a valid code or token of that client. Client ids are public, so anyone could
use up a limit that counted by client id alone. For the same reason each person has a limit within a client. Rejected
requests have separate limits, so that someone who guesses does not block other people behind the same IP address.
Rejected requests of an authenticated client have one, too: anyone can make a web app send codes that it was not given.
"""

from django.conf import settings
from django.http import HttpRequest

from core.http.client_ip import limit_key
from core.limits import Rate, hit
from core.limits.counters import Limit, check_limits, check_rate
from oidc.errors import TokenRefusal
from oidc.models import TokenFamily


def count_client(family: TokenFamily) -> None:
    """Count a request with a valid code or token, for its client and for its person there. Raises Throttled."""
    connection = family.connection
    client, sub = connection.client.client_id, connection.subject.sub if connection.subject else ""
    check_limits(
        "client",
        Limit(f"client:{client}", settings.CLIENT_REQUESTS_PER_MINUTE),
        Limit(f"client person:{client}:{sub}", settings.API_CALLS_PER_PERSON_PER_MINUTE),
    )


def count_authorization(request: HttpRequest, client_id: str) -> None:
    """Count a visit to the authorization endpoint, per client and IP address. Raises RateLimited."""
    rate = Rate("authorize", settings.CLIENT_REQUESTS_PER_MINUTE, 60)
    hit(rate, client_id[:100], limit_key(request))


def count_failure(request: HttpRequest, refusal: TokenRefusal | None = None) -> None:
    """Count a rejected request. Raises Throttled.

    If the client sent a valid secret, CLIENT_REQUESTS_PER_MINUTE are allowed, in addition to the accepted ones.
    Otherwise the request counts toward FAILURES_PER_MINUTE: by IP address and client id for a public client, because
    anyone can send that id, and by IP address alone if no client was authenticated.
    """
    if refusal is not None and refusal.proven:
        check_rate("client failures", refusal.client_id, settings.CLIENT_REQUESTS_PER_MINUTE)
    elif refusal is not None and refusal.authenticated:
        check_rate("failures", f"{limit_key(request)} {refusal.client_id}", settings.FAILURES_PER_MINUTE)
    else:
        check_rate("failures", limit_key(request), settings.FAILURES_PER_MINUTE)
