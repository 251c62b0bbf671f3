"""Gathering of how an app is used: people, sign-ins, scopes and calls."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Count, Q

from api import usage_counts
from api.endpoint import endpoints_with_scope
from core import clock
from devportal.console.models import SignInEvent
from devportal.review.evidence.gathered import ScopeUsage, Usage
from devportal.review.rules.snapshots import reviewed_scopes
from oidc.apis.registry import ACCOUNT_API
from oidc.apis.scopes import known_scopes
from oidc.models import Client, Connection
from oidc.values.parameters import printable_name

DAYS = 30  # of calls, errors and requests for scopes, in UTC, including today
UNUSED_DAYS = 90  # a scope of the API at `/v1` without a call that needs it counts as unused
MAX_PEOPLE = 10_000  # people are counted up to this number
MAX_SIGN_INS = 1000  # the newest steps of the sign-in log that are read


def gather_usage(client: Client) -> Usage:
    """Return how the app is used, in four SQL statements that read a bounded number of rows."""
    # Whole days have a separate table with a few rows per day, however many calls there were.
    tomorrow = clock.now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    month, quarter = tomorrow - timedelta(days=DAYS), tomorrow - timedelta(days=UNUSED_DAYS)
    consents, log = _read_consents(client, month), _read_sign_ins(client, month)
    by_status = usage_counts.series(client.project, month, tomorrow, "endpoint", "status", client=client.client_id)
    served = usage_counts.series(client.project, quarter, tomorrow, "endpoint", client=client.client_id, status__lt=400)
    calls, lately = Counter[str](), Counter[str]()
    for row in served:
        calls[row["endpoint"]] += row["total_count"]
    for row in by_status:
        lately[row["endpoint"]] += row["total_count"] if row["status"] < 400 else 0
    return Usage(
        people=min(consents.people, MAX_PEOPLE),
        people_is_more=consents.people > MAX_PEOPLE,
        scopes={
            scope: ScopeUsage(
                granted=consents.granted[scope],
                asked=consents.asked[scope],
                refused=log.refused_scopes[printable_name(scope)],
                calls=sum(calls[name] for name in endpoints_of(scope)),
                calls_lately=sum(lately[name] for name in endpoints_of(scope)),
            )
            for scope in reviewed_scopes()
        },
        sign_ins=log.outcomes[SignInEvent.Outcome.SIGNED_IN],
        cancelled=log.outcomes[SignInEvent.Outcome.CANCELLED],
        refusals=log.refusals,
        sign_ins_is_more=sum(log.outcomes.values()) + sum(log.refusals.values()) >= MAX_SIGN_INS,
        calls=sum(row["total_count"] for row in by_status),
        errors=sum(row["total_count"] for row in by_status if row["status"] >= 400),
    )


def endpoints_of(scope: str) -> list[str]:
    """Return the endpoints, as usage counts name them, for which an app uses a scope.

    The usage of another API than that at `/v1` is counted under the API's slug.
    """
    known = known_scopes().get(scope)
    return [known.api] if known and known.api not in ("", ACCOUNT_API) else endpoints_with_scope(scope)


@dataclass
class _Consents:
    """How many people ever authorized the app; by scope, how many still grant it, and how many were asked lately."""

    people: int = 0
    granted: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)


def _read_consents(client: Client, since: datetime) -> _Consents:
    """Count the people whose consents hold each scope. A person was asked lately if they signed in since `since`."""
    counted = client.connections.order_by()[: MAX_PEOPLE + 1]
    columns = ("scopes", "left_out", "removed_scopes")
    groups = Connection.objects.filter(pk__in=counted.values("pk")).order_by().values_list(*columns)
    found = _Consents()
    numbers = {"number": Count("pk"), "lately": Count("pk", filter=Q(last_authorized_at__gte=since))}
    for scopes, left_out, removed, number, lately in groups.annotate(**numbers):
        found.people += number
        for scope in set(scopes.split()):
            found.granted[scope] += number
        for scope in {*scopes.split(), *left_out.split(), *removed.split()}:
            found.asked[scope] += lately
    return found


@dataclass
class _Log:
    """The newest steps in the sign-in log: outcomes, errors of refused ones, and scopes that were refused lately."""

    outcomes: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    refused_scopes: Counter[str] = field(default_factory=Counter)


def _read_sign_ins(client: Client, since: datetime) -> _Log:
    newest = SignInEvent.objects.filter(client=client).order_by("-pk")
    found = _Log()
    for outcome, error, at, parameters in newest.values_list("outcome", "error", "at", "parameters")[:MAX_SIGN_INS]:
        if outcome != SignInEvent.Outcome.REFUSED:
            found.outcomes[outcome] += 1
            continue
        found.refusals[error or "other"] += 1
        if error == "invalid_scope" and at >= since:
            found.refused_scopes.update(_names(parameters.get("scopes")))
    return found


def _names(scopes: object) -> set[str]:
    return {str(scope) for scope in scopes} if isinstance(scopes, list) else set()
