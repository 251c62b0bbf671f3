"""Lines of the audit log about stored audit events and refused steps of sign-ins to apps."""

import heapq
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from accounts.activity import audit_lines
from accounts.models import SecurityEvent
from core.audit_log import Line
from devportal.console.models import AuditEvent, SignInEvent

AUDIT, APP_SIGN_IN = "audit", "app_sign_in"
# Audit events whose target is the client id.
_OF_CLIENTS = ("client.", "client_secret.", "consent.", "family.", "review.", "review_case.")
_ACCOUNT = re.compile(r"account:([0-9]+)")


def line_of(row: AuditEvent) -> Line:
    """Return the line of an audit event, which may be unsaved."""
    account = row.person_id
    if known := _ACCOUNT.fullmatch(row.target):
        account = int(known[1])
    # What a person gave as a reason is a text; the service's reasons are codes.
    reason = "" if row.actor_id else str(row.details.get("reason", ""))
    return Line(
        row.at,
        AUDIT,
        row.action,
        actor=row.actor_id,
        account=account,
        project=row.project,
        client=row.target if row.action.startswith(_OF_CLIENTS) else "",
        target=row.target,
        ip=row.ip or "",
        request_id=row.request_id,
        reason=reason,
        details=row.details,
        before=row.before,
        after=row.after,
        personal={"email": row.actor_email},
    )


def line_of_sign_in(at: datetime, entry: Mapping[str, Any], client: str, ip: str = "") -> Line:
    """Return the line of a refused step of a sign-in to an app; `entry` has the fields of SignInEvent."""
    details = {"error": entry["error"], "parameters": entry["parameters"], "redirect_uri": entry["redirect_uri"]}
    kind = f"{entry['endpoint']}.{entry['outcome']}"
    about = {"request_id": entry["request_id"], "reason": entry["reason"], "details": details}
    return Line(at, APP_SIGN_IN, kind, client=client, ip=ip, **about)


def lines_of_day(day: date) -> Iterator[Line]:
    """Return the lines of what the database has about a day (UTC), by time."""
    start = datetime.combine(day, time(), UTC)
    within = {"at__gte": start, "at__lt": start + timedelta(days=1)}
    trail = AuditEvent.objects.filter(**within).order_by("at", "pk")
    activity = SecurityEvent.objects.filter(**within).order_by("at", "pk")
    refused = SignInEvent.objects.filter(**within, outcome=SignInEvent.Outcome.REFUSED).order_by("at", "pk")
    refused, activity = refused.select_related("client"), activity.select_related("account")
    return heapq.merge(
        (line_of(row) for row in trail.iterator()),
        (audit_lines.line_of(row) for row in activity.iterator()),
        (line_of_sign_in(row.at, vars(row), row.client.client_id) for row in refused.iterator()),
        key=lambda line: line.time,
    )
