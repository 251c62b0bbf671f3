"""The sign-in log of each client: written in batches, bounded, and cleared by age."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from devportal.console.models import SignInEvent
from devportal.lib import clock, journal, request_id
from devportal.lib.audit import Event
from oidc.models import Client

LOG = "sign_in"
PREFIX = "sign_in."
LONGEST_TEXT = 2000  # characters


def note(event: Event) -> None:
    """Keep one step of a sign-in; without a statement, so that known and unknown clients take the same time."""
    details = event.details
    values = {
        "client": event.target,
        "at": clock.now().timestamp(),
        "endpoint": details["endpoint"],
        "outcome": event.action.removeprefix(PREFIX),
        "error": details.get("error", "")[:40],
        "reason": journal.stored(details.get("reason", ""), LONGEST_TEXT),
        "redirect_uri": journal.stored(details.get("redirect_uri", ""), LONGEST_TEXT),
        "request_id": request_id.current(),
    }
    journal.note(LOG, values)


def _write(entries: list[dict[str, Any]]) -> None:
    """Store entries in the order of their time, of each client at most SIGN_IN_LOG_PER_MINUTE a minute."""
    wanted = {entry["client"] for entry in entries}
    clients = dict(Client.objects.filter(client_id__in=wanted).values_list("client_id", "pk"))
    written: Counter[tuple[str, int]] = Counter()
    rows = []
    for entry in sorted(entries, key=lambda entry: entry["at"]):
        pk = clients.get(entry.pop("client"))
        minute = (str(pk), int(entry["at"]) // 60)
        written[minute] += 1
        if pk is not None and written[minute] <= settings.SIGN_IN_LOG_PER_MINUTE:
            rows.append(SignInEvent(**entry | {"client_id": pk, "at": datetime.fromtimestamp(entry["at"], UTC)}))
    SignInEvent.objects.bulk_create(rows, batch_size=500)


journal.register(LOG, _write)
