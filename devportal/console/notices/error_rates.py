"""Notices about errors well above the usual rate, from the counts of sign-ins and calls by hour.

The rate of the current and the last full hour is compared with that of the week before. It is well above it if all of
these are true:

- there were at least LEAST_ERRORS errors,
- the rate is at least FACTOR times the usual one, and at least MARGIN higher,
- there were at least LEAST_USUAL requests in the week before, so that the usual rate is known.

An episode lasts until the rate was not well above the usual one for QUIET. It raises one notice.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db.models import Q, QuerySet, Sum

from api.models import ApiKey, UsageHour, UsageTotal
from core import clock
from devportal.console.models import SignInHour
from devportal.console.notices.checks import Due, raise_due
from devportal.console.notices.kinds import NoticeKind
from oidc.models import Client
from oidc.sign_in_log.steps import Step

LEAST_ERRORS = 20
LEAST_USUAL = 100
FACTOR = 3
MARGIN = 0.1
QUIET = timedelta(hours=6)

_HOUR = timedelta(hours=1)
_RECENT = 2 * _HOUR
_WEEK = timedelta(days=7)
_AT_ONCE = 100

_FAILED = (Step.TURNED_AWAY, Step.REFUSED, Step.NOT_EXCHANGED, Step.NOT_REFRESHED)
_WORKED = (Step.ISSUED, Step.EXCHANGED, Step.REFRESHED)
# Answers to apps that work: the person has to sign in or consent, or does not want to.
_NORMAL = (
    "access_denied",
    "account_selection_required",
    "consent_required",
    "interaction_required",
    "login_required",
    "unmet_authentication_requirements",
)
_SIGN_IN_ERRORS = Q(step__in=_FAILED) & ~Q(error__in=_NORMAL)
_SIGN_INS = _SIGN_IN_ERRORS | Q(step__in=_WORKED)
_CALL_ERRORS = Q(status__gte=400)


@dataclass(frozen=True)
class Counts:
    """The requests of a period, and how many of them failed."""

    errors: int
    total: int

    @property
    def rate(self) -> float:
        return self.errors / self.total if self.total else 0


def is_well_above(now: Counts, usual: Counts) -> bool:
    """Return whether the errors of now are well above the usual rate."""
    return (
        now.errors >= LEAST_ERRORS
        and usual.total >= LEAST_USUAL
        and now.rate >= FACTOR * usual.rate
        and now.rate >= usual.rate + MARGIN
    )


def check_error_rates() -> int:
    """Raise notices about clients and API keys with many more errors than usual; return their number."""
    return raise_due(find_well_above(clock.now()))


def find_well_above(now: datetime) -> Iterator[Due]:
    """Yield the notices of the clients and API keys whose errors are well above their usual rate at `now`."""
    since = now.replace(minute=0, second=0, microsecond=0) - _HOUR
    yield from _sign_ins(since)
    yield from _calls(since)


def _details(since: datetime, now: Counts, usual: Counts) -> dict[str, Any]:
    return {
        "since_at": since,
        "errors": now.errors,
        "total": now.total,
        "rate": round(100 * now.rate),
        "usual_rate": round(100 * usual.rate),
    }


def _counts(rows: "QuerySet[Any]", errors: Q, *by: str) -> dict[tuple[Any, ...], Counts]:
    found = rows.values_list(*by).annotate(e=Sum("count", filter=errors, default=0), t=Sum("count")).order_by()
    return {tuple(who): Counts(failed, total) for *who, failed, total in found}


def _in_batches(keys: Iterable[int]) -> Iterator[list[int]]:
    left = iter(keys)
    return iter(lambda: list(islice(left, _AT_ONCE)), [])


def _sign_ins(since: datetime) -> Iterator[Due]:
    recent = SignInHour.objects.filter(_SIGN_IN_ERRORS, hour__gte=since, hour__lt=since + _RECENT)
    many = recent.values("client").annotate(errors=Sum("count")).filter(errors__gte=LEAST_ERRORS).order_by("client")
    for some in _in_batches(many.values_list("client", flat=True)):
        rows = SignInHour.objects.filter(_SIGN_INS, client__in=some)
        now = _counts(rows.filter(hour__gte=since, hour__lt=since + _RECENT), _SIGN_IN_ERRORS, "client")
        usual = _counts(rows.filter(hour__gte=since - _WEEK, hour__lt=since), _SIGN_IN_ERRORS, "client")
        clients = Client.objects.in_bulk(some)
        for (pk,), counts in sorted(now.items()):
            before = usual.get((pk,), Counts(0, 0))
            if pk in clients and is_well_above(counts, before):
                client = clients[pk]
                details = _details(since, counts, before)
                yield Due(client.project_id, NoticeKind.SIGN_IN_ERRORS, str(pk), details, client, QUIET)


def _calls(since: datetime) -> Iterator[Due]:
    recent = UsageTotal.objects.filter(_CALL_ERRORS, hour__gte=since, hour__lt=since + _RECENT)
    many = recent.values("project").annotate(errors=Sum("count")).filter(errors__gte=LEAST_ERRORS).order_by("project")
    for project in many.values_list("project", flat=True):
        rows = UsageHour.objects.filter(project=project)
        who = ("credential", "client")
        now = _counts(rows.filter(hour__gte=since, hour__lt=since + _RECENT), _CALL_ERRORS, *who)
        busy = {caller: counts for caller, counts in now.items() if counts.errors >= LEAST_ERRORS}
        usual = _counts(rows.filter(hour__gte=since - _WEEK, hour__lt=since), _CALL_ERRORS, *who) if busy else {}
        above = {
            caller: (counts, usual.get(caller, Counts(0, 0)))
            for caller, counts in sorted(busy.items())
            if is_well_above(counts, usual.get(caller, Counts(0, 0)))
        }
        yield from _of_callers(project, since, above)


def _of_callers(project: int, since: datetime, above: "dict[tuple[str, str], tuple[Counts, Counts]]") -> Iterator[Due]:
    keys = dict(
        ApiKey.objects.filter(project=project, public_id__in=[key for key, _ in above if key]).values_list(
            "public_id", "name"
        )
    )
    apps = {
        row.client_id: row
        for row in Client.objects.filter(project=project, client_id__in=[app for _, app in above if app])
    }
    for (key, app), (now, usual) in above.items():
        client = apps.get(app)
        name = keys.get(key) if key else client and client.name
        if name:
            details = {"caller": name, **_details(since, now, usual)}
            yield Due(project, NoticeKind.CALL_ERRORS, f"{key}|{app}"[:100], details, client, QUIET)
