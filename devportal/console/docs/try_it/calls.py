"""The call that the page makes: the API's own answer, in the name of a key of the reader or of what they pasted."""

import time
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from accounts.models import Account
from api.authentication import call_as_key
from api.keys import parse_public_id
from api.models import ApiKey
from devportal.console.playground.internal_client import Exchange, call_endpoint
from devportal.lib import clock


@dataclass(frozen=True)
class Outcome:
    """An answer, how long it took in milliseconds, and where the reader finds the call in their request log."""

    exchange: Exchange
    milliseconds: int
    log_url: str


def own_keys(account: Account | None) -> list[ApiKey]:
    """Return the live keys of which the reader is the owner: those they may act with, because they act as they do."""
    if account is None:
        return []
    rows = ApiKey.objects.filter(owner=account, revoked_at=None, project__deleted_at=None)
    return list(rows.exclude(expires_at__lte=clock.now()).select_related("project").order_by("project__name", "name"))


def call(path: str, headers: dict[str, str], own: dict[str, ApiKey], *, key: ApiKey | None, pasted: str) -> Outcome:
    """Call an endpoint as `key`, whose secret nobody knows here, or with the pasted credential."""
    started = time.perf_counter()
    if key is not None:
        with call_as_key(key.public_id):
            exchange = call_endpoint(path, headers | {"Authorization": "Bearer in-process"})
    else:
        exchange = call_endpoint(path, headers | {"Authorization": f"Bearer {pasted}"})
        key = own.get(parse_public_id(pasted) or "")
    milliseconds = round((time.perf_counter() - started) * 1000)
    # A pasted key that is a stranger's with a known id was refused as unknown, and is in nobody's log.
    return Outcome(exchange, milliseconds, _log_url(key, exchange) if key else "")


def _log_url(key: ApiKey, exchange: Exchange) -> str:
    named = exchange.headers.get("x-request-id", "")
    query = urlencode({"request_id": named})
    return f"{reverse('console:requests', args=[key.project.public_id])}?{query}" if named else ""
