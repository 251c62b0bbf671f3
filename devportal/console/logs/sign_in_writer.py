"""Writing the sign-in log, with redirect URLs redacted.

A redirect URL is stored as received, because it is compared with the registered ones character for character. But
anyone can send one, and apps put secrets and personal data into their URLs.
"""

import re
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.db.models.functions import TruncMinute

from core import clock
from core.audit import Event
from core.database import partitions
from core.http import request_id
from core.limits import log_buffer
from core.logging import redact
from devportal.console.models import SignInEvent
from oidc.models import Client
from oidc.sign_in_log.steps import KIND

REMOVED = "[removed]"
# Replaces removed text. The patterns of core/logging.py also apply.
MARKS = (REMOVED, "[redacted]", "[token]", "[credential]")
# Values are removed from parameters whose names contain one of these words.
_SECRET_WORDS = (
    "api[_-]?key|assertion|auth|code|cookie|credential|e?-?mail|hint|jwt|login|name|nonce|otp|passw|phone|pin|pwd|saml|"
    "secret|sess|sid|sig|state|sub|ticket|token|user"
)
_START = r"(?:^|(?<=[?&;#/\s“\"']))"
_PARAMETER = re.compile(rf"(?i){_START}([\w%.\-\[\]]*(?:{_SECRET_WORDS})[\w%.\-\[\]]*=)[^&;#\s”\"']+")
# user:password@ in a URL, which ends at the last @ (RFC 3986 §3.2.1), and the local part of an email address; both also
# percent-encoded.
_BEFORE_AT = re.compile(r"(?i)(?:^|(?<=[/?&;#=,\s“\"']))(?:(?:(?!%40)[^/?&;#=,\s“”\"'@])+(?:@|%40))+")


def redact_secrets(text: str) -> str:
    """Return a text with credentials and personal data replaced by `[removed]`."""
    return redact(_BEFORE_AT.sub(f"{REMOVED}@", _PARAMETER.sub(rf"\1{REMOVED}", text)))


LOG = KIND
PREFIX = f"{KIND}."
_ROWS_A_STATEMENT = 500
_MOST_NAMES = 8  # items of a list in a reason's parameters; ordinary requests have few
_BY_DAY = partitions.DailyTable(SignInEvent._meta.db_table, "at")


# Entries a minute and process whose client was not looked up. Most of them may be of unknown clients.
_MOST_CLAIMED = 600
entry_budget = log_buffer.EntryBudget()


def record_sign_in(event: Event) -> dict[str, Any] | None:
    """Queue an entry without SQL, so that known and unknown clients take the same time. Return it.

    Entries of unknown clients are dropped when the batch is stored. Floods are dropped here; then, return None.
    """
    details = event.details
    outcome = event.action.removeprefix(PREFIX)
    if details.get("is_claimed") and not entry_budget.is_left(_MOST_CLAIMED):
        return None
    if not entry_budget.is_left(settings.SIGN_IN_LOG_PER_MINUTE, event.target, outcome):
        return None
    values: dict[str, Any] = {
        "client": event.target,
        "at": clock.now().timestamp(),
        "endpoint": details["endpoint"],
        "outcome": outcome,
        "step": details.get("counted_as", ""),
        "error": details["error"][:40],
        "reason": details.get("reason", ""),
        "parameters": {name: _value(value) for name, value in details.get("parameters", {}).items()},
        "redirect_uri": _text(details.get("redirect_uri", "")),
        "request_id": request_id.current(),
    }
    if details.get("family") is not None:
        values["family"] = details["family"]
    log_buffer.append(LOG, values)
    return values


def _value(value: str | int | list[str]) -> str | int | list[str]:
    if isinstance(value, list):
        return [_text(each) for each in value[:_MOST_NAMES]]
    return _text(value) if isinstance(value, str) else value


def _text(text: str) -> str:
    # Cut before redaction, which takes time for long texts, and again afterwards, since it may lengthen the text.
    longest = log_buffer.MAX_TEXT_BYTES
    return log_buffer.storable_text(redact_secrets(log_buffer.storable_text(text, longest)), longest) if text else ""


def _write(entries: list[dict[str, Any]]) -> None:
    """Store at most SIGN_IN_LOG_PER_MINUTE entries per client, outcome and minute.

    Successes have a separate limit, so that a flood of refusals does not displace them.
    """
    wanted = {str(entry.get("client")) for entry in entries}
    columns = Client.objects.filter(client_id__in=wanted).values_list("client_id", "pk", "project_id")
    clients = {public_id: {"client_id": client, "project_id": project} for public_id, client, project in columns}
    known = [entry | clients[public_id] for entry in entries if (public_id := str(entry.get("client"))) in clients]
    rows = [row for entry in known if (row := log_buffer.build_row(SignInEvent, entry)) is not None]
    if not rows:
        return
    written = _written_since(min(row.at for row in rows), {row.client_id for row in rows})
    kept = []
    for row in rows:
        kind = (row.client_id, row.outcome, row.at.replace(second=0, microsecond=0))
        written[kind] += 1
        if written[kind] <= settings.SIGN_IN_LOG_PER_MINUTE:
            kept.append(row)
    SignInEvent.objects.bulk_create(kept, batch_size=_ROWS_A_STATEMENT)


def _written_since(since: datetime, clients: set[int]) -> Counter[tuple[int, str, datetime]]:
    """Return the number of stored entries by client, outcome and minute."""
    rows = SignInEvent.objects.filter(at__gte=since.replace(second=0, microsecond=0), client__in=clients)
    minutes = rows.annotate(minute=TruncMinute("at", tzinfo=UTC)).values_list("client", "outcome", "minute")
    return Counter({(client, outcome, minute): n for client, outcome, minute, n in minutes.annotate(n=Count("pk"))})


def clear_before(before: datetime) -> int:
    """Delete the days (UTC) that end before `before`; return the approximate number of deleted rows."""
    return partitions.clear_before(SignInEvent, _BY_DAY, before)


log_buffer.register_writer(LOG, _write)
