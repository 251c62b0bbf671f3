"""Gathering of how an app is used: people, sign-ins and calls."""

from collections import Counter
from datetime import timedelta

from django.db.models import Count, Q

from api import usage_counts
from core import clock
from devportal.console.models import SignInEvent
from devportal.review.evidence.gathered import Usage
from devportal.review.snapshots import reviewed_scopes
from oidc.models import Client

DAYS = 30  # of calls and errors, in UTC, including today
UNUSED_DAYS = 90  # a scope without a call that needs it counts as unused
MAX_PEOPLE = 10_000  # people are counted up to this number
MAX_SIGN_INS = 1000  # the newest steps of the sign-in log that are read


def gather_usage(client: Client) -> Usage:
    """Return how the app is used, in four SQL statements that read a bounded number of rows."""
    counted = _people(client)
    outcomes, refusals = _sign_ins(client)
    # Whole days have a separate table with a few rows per day, however many calls there were.
    tomorrow = clock.now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    month, quarter = tomorrow - timedelta(days=DAYS), tomorrow - timedelta(days=UNUSED_DAYS)
    by_status = usage_counts.series(client.project, month, tomorrow, "status", client=client.client_id)
    served = usage_counts.series(client.project, quarter, tomorrow, "endpoint", client=client.client_id, status__lt=400)
    steps = sum(outcomes.values()) + sum(refusals.values())
    return Usage(
        people=min(counted["people"], MAX_PEOPLE),
        people_is_more=counted["people"] > MAX_PEOPLE,
        granted={scope: counted[_name(scope)] for scope in reviewed_scopes()},
        sign_ins=outcomes[SignInEvent.Outcome.SIGNED_IN],
        cancelled=outcomes[SignInEvent.Outcome.CANCELLED],
        refusals=refusals,
        sign_ins_is_more=steps >= MAX_SIGN_INS,
        calls=sum(row["total_count"] for row in by_status),
        errors=sum(row["total_count"] for row in by_status if row["status"] >= 400),
        calls_by_endpoint={row["endpoint"]: row["total_count"] for row in served},
    )


def _name(scope: str) -> str:
    return scope.replace(".", "_")


def _people(client: Client) -> dict[str, int]:
    """Count the people who ever authorized the app, and by scope those who still grant one that needs approval."""
    rows = client.connections.order_by()[: MAX_PEOPLE + 1]
    # A scope whose name is a prefix of another one would be counted with it, but there is no such scope.
    granted = {_name(scope): Count("pk", filter=Q(scopes__contains=scope)) for scope in reviewed_scopes()}
    return dict(rows.aggregate(people=Count("pk"), **granted))


def _sign_ins(client: Client) -> tuple[Counter[str], Counter[str]]:
    """Return the outcomes of the newest steps in the sign-in log, and the errors of the refused ones."""
    newest = SignInEvent.objects.filter(client=client).order_by("-pk")
    outcomes, refusals = Counter[str](), Counter[str]()
    for outcome, error in newest.values_list("outcome", "error")[:MAX_SIGN_INS]:
        if outcome == SignInEvent.Outcome.REFUSED:
            refusals[error or "other"] += 1
        else:
            outcomes[outcome] += 1
    return outcomes, refusals
