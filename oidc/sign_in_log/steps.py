"""The steps of a sign-in to an app, and how they are reported.

A report counts the step by client and hour, for the console's analytics (docs/console.md#analytics). Counts contain no
personal data. Steps in ENTRIES are also written to the client's sign-in log and counted in the metrics
(docs/monitoring.md#metrics). The app gets the standard's error code, and its developer finds the exact reason in the
log.
"""

from enum import StrEnum
from typing import Any

from django.db.models import TextChoices

from core import audit, clock
from core.limits import log_buffer
from core.telemetry import metrics

KIND = "sign_in"
HOUR = 3600  # seconds
# Names of pages that people see when the app gets no error. The log stores them in place of an error code.
UNAVAILABLE, APP_FULL = "unavailable", "app_full"


class Endpoint(TextChoices):
    AUTHORIZE = "authorize", "Authorization"
    TOKEN = "token", "Token"
    REVOKE = "revoke", "Revocation"
    USERINFO = "userinfo", "Userinfo"
    END_SESSION = "end_session", "Sign-out"


class Outcome(TextChoices):
    """The outcome of a step, in log entries and metrics."""

    CODE_ISSUED = "issued", "Code issued"
    SIGNED_IN = "signed_in", "Signed in"
    REFRESHED = "refreshed", "Refreshed"
    REVOKED = "revoked", "Revoked"
    CANCELLED = "cancelled", "Cancelled"
    REFUSED = "refused", "Refused"


class Step(StrEnum):
    """A step that is counted. Rejections and cancellations are counted by error code as well."""

    STARTED = "started"  # a valid request that may show pages
    SILENT = "silent"  # a valid request with prompt=none
    SHOWN = "shown"  # the consent page
    SKIPPED = "skipped"  # a code without the consent page, because the person had allowed everything before
    ALLOWED = "allowed"
    CANCELLED = "cancelled"
    ISSUED = "issued"
    EXCHANGED = "exchanged"
    TURNED_AWAY = "turned_away"  # an authorization request that was not valid
    REFUSED = "refused"  # an authorization request that had started
    NOT_EXCHANGED = "not_exchanged"
    NOT_REFRESHED = "not_refreshed"
    REPEATED = "repeated"  # a refresh with a token that was superseded a moment before; not counted as NOT_REFRESHED
    NOT_REVOKED = "not_revoked"
    NO_USERINFO = "no_userinfo"  # userinfo was refused to a token of the client
    NOT_SIGNED_OUT = "not_signed_out"  # a sign-out request that was not valid
    REFRESHED = "refreshed"
    REVOKED = "revoked"
    NEW_PERSON = "new_person"  # the first authorization ever
    RETURNING = "returning"  # the first one on a day (UTC) by someone who had authorized the app before


# The endpoint and outcome of each step in the sign-in log and the metrics. The other steps are only counted.
ENTRIES = {
    Step.ISSUED: (Endpoint.AUTHORIZE, Outcome.CODE_ISSUED),
    Step.CANCELLED: (Endpoint.AUTHORIZE, Outcome.CANCELLED),
    Step.TURNED_AWAY: (Endpoint.AUTHORIZE, Outcome.REFUSED),
    Step.REFUSED: (Endpoint.AUTHORIZE, Outcome.REFUSED),
    Step.EXCHANGED: (Endpoint.TOKEN, Outcome.SIGNED_IN),
    Step.REFRESHED: (Endpoint.TOKEN, Outcome.REFRESHED),
    Step.NOT_EXCHANGED: (Endpoint.TOKEN, Outcome.REFUSED),
    Step.NOT_REFRESHED: (Endpoint.TOKEN, Outcome.REFUSED),
    Step.REPEATED: (Endpoint.TOKEN, Outcome.REFUSED),
    Step.REVOKED: (Endpoint.REVOKE, Outcome.REVOKED),
    Step.NOT_REVOKED: (Endpoint.REVOKE, Outcome.REFUSED),
    Step.NO_USERINFO: (Endpoint.USERINFO, Outcome.REFUSED),
    Step.NOT_SIGNED_OUT: (Endpoint.END_SESSION, Outcome.REFUSED),
}


def report(step: Step, client_id: str, *, error: str = "", is_counted: bool = True, **details: Any) -> None:
    """Report a step: count it in the current hour, and log it if it is in ENTRIES.

    `details` are the reason (oidc/values/reasons.py; required for a refusal) with its parameters, redirect_uri (for
    sign-out, the sign-out URL), the primary key of the family, and is_claimed, which is True if the client id was only
    sent and not looked up: the log bounds such entries. Use `is_counted=False` for a step that was counted before, or
    whose client is unknown: the buffer of counts stays small only if clients exist and errors come from a short list.
    Entries of unknown clients are dropped when the log is written.
    """
    if is_counted:
        hour = clock.timestamp() // HOUR
        log_buffer.count(KIND, f"{client_id}|{hour}|{step.value}|{error}")
    if step in ENTRIES:
        endpoint, outcome = ENTRIES[step]
        counted_as = step.value if is_counted else ""
        about = {"endpoint": endpoint.value, "error": error, "counted_as": counted_as} | details
        metrics.APP_SIGN_INS.count(endpoint.value, outcome.value)
        if outcome == Outcome.REFUSED:
            metrics.REFUSALS.count(endpoint.value, error, details["reason"])
        audit.report(audit.Event(f"{KIND}.{outcome.value}", target=client_id, details=about))
