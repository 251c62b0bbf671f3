"""Limits of the endpoints that apps use, keyed on what a caller can't choose.

A client is counted once it has shown a code or token of its own, so that nobody uses up another's budget with a
client id that is no secret; before that, failures are counted by address.
"""

from contextlib import suppress

from django.conf import settings
from django.http import HttpRequest

from devportal.lib.client_ip import limit_key
from devportal.lib.limits import Limited, check
from oidc.models import Client

# What django-ratelimit is handed where it asks for a request: with a key of our own it reads nothing from it.
_NO_REQUEST = HttpRequest()


def count_client(client: Client) -> None:
    """Count a request of `client`. Raises Limited beyond CLIENT_REQUESTS_PER_MINUTE."""
    check(_NO_REQUEST, "client", client.client_id, settings.CLIENT_REQUESTS_PER_MINUTE)


def count_authorization(request: HttpRequest, client_id: str) -> None:
    """Count a visit to the authorization endpoint, per client and address. Raises Limited."""
    key = f"{client_id[:100]} {limit_key(request)}"
    check(request, "authorize", key, settings.CLIENT_REQUESTS_PER_MINUTE)


def refuse_after_failures(request: HttpRequest) -> None:
    """Refuse an address that has failed FAILURES_PER_MINUTE times in this minute. Raises Limited."""
    check(request, "failures", limit_key(request), settings.FAILURES_PER_MINUTE, increment=False)


def note_failure(request: HttpRequest) -> None:
    """Count a request that was refused. It keeps its own answer; the next one may get 429."""
    with suppress(Limited):
        check(request, "failures", limit_key(request), settings.FAILURES_PER_MINUTE)
