"""Periodic checks for notices that no action causes: credentials that expire or are unused, errors, and people.

Each check reads by an index, or by ranges of primary keys, and only rows whose condition began lately. So its cost does
not grow with the number of rows, and an old condition raises no notice when the check first runs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from math import ceil
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from api.keys import API_KEYS
from core import clock
from core.tasks import sum_of_each
from devportal.console.models import SignInHour
from devportal.console.notices.kinds import NoticeKind
from devportal.console.notices.raising import notify, raised_before
from devportal.console.people import near_limit
from oidc.clients.secrets import CLIENT_SECRETS
from oidc.models import Client
from oidc.projects.credentials import CredentialKind
from oidc.projects.roles import Gone, lock_project
from oidc.sign_in_log.steps import Step

EXPIRY_DAYS = (14, 3)
UNUSED_DAYS = 90
# How long after its moment a notice is still raised, so that a check that did not run for a while misses nothing.
LATE = timedelta(days=2)
_AT_ONCE = 500
_KEYS_AT_ONCE = 20_000


@dataclass(frozen=True)
class Due:
    """A notice to raise. `once` identifies its cause in its project."""

    project_id: int
    kind: NoticeKind
    once: str
    details: Mapping[str, Any]
    client: Client | None = None
    again_after: timedelta | None = None

    def __str__(self) -> str:
        return f"{self.kind} of project {self.project_id}"


def raise_due(found: Iterable[Due]) -> int:
    """Raise the notices that were not raised before, each in a separate transaction; return their number."""
    raised, waiting = 0, iter(found)
    while some := list(islice(waiting, _AT_ONCE)):
        known: set[tuple[str, int, str]] = set()
        for kind in {due.kind for due in some}:
            once_only = {(due.project_id, due.once) for due in some if due.kind == kind and due.again_after is None}
            known |= {(kind, *cause) for cause in raised_before(kind, once_only)}
        new = [due for due in some if (due.kind, due.project_id, due.once) not in known]
        raised += sum_of_each(new, _raise, "The notice %s could not be raised. This is tried again.")
    return raised


def _raise(due: Due) -> bool:
    try:
        with transaction.atomic():
            # Waits for changes of the project, and fails if it was deleted.
            project = lock_project(due.project_id)
            client = Client.objects.filter(pk=due.client.pk).first() if due.client else None
            if due.client and client is None:  # deleted in the meantime
                return False
            return bool(
                notify(
                    project,
                    due.kind,
                    client=client,
                    details=due.details,
                    once=due.once,
                    again_after=due.again_after,
                )
            )
    except Gone:
        return False


# --- Secrets and API keys ---

# The outer credential was not used since this one was created.
_REPLACES = Q(created_at__gte=Coalesce(OuterRef("last_used_at"), OuterRef("created_at")))


@dataclass(frozen=True)
class Noticed:
    """The notices about one kind of credentials."""

    kind: CredentialKind[Any]
    expires: NoticeKind
    unused: NoticeKind
    project: str  # the path to it
    same: tuple[str, ...]  # a newer one in which these fields are the same replaces it
    details: Callable[[Any], dict[str, Any]]

    @property
    def rows(self) -> "QuerySet[Any]":
        """The credentials that are not revoked, of projects that are neither deleted nor suspended."""
        alive = {f"{self.project}__deleted_at": None, f"{self.project}__suspended_at": None}
        rows: QuerySet[Any] = self.kind.model._default_manager.filter(revoked_at=None, **alive)
        return rows.select_related(*self.kind.related)

    def due(self, kind: NoticeKind, row: Any, once: str, **details: Any) -> Due:
        project, client, _ = self.kind.belongs_to(row)
        assert project is not None
        return Due(project.pk, kind, f"{row.pk}:{once}", self.details(row) | details, client)


NOTICED = (
    Noticed(
        CLIENT_SECRETS,
        NoticeKind.SECRET_EXPIRES,
        NoticeKind.SECRET_UNUSED,
        "client__project",
        ("client",),
        lambda secret: {"last_four": secret.last_four},
    ),
    Noticed(
        API_KEYS,
        NoticeKind.KEY_EXPIRES,
        NoticeKind.KEY_UNUSED,
        "project",
        ("project", "owner", "name"),
        lambda key: {"key": key.name, "masked": key.masked},
    ),
)


def check_expiry() -> int:
    """Raise notices about secrets and API keys that expire in EXPIRY_DAYS; return their number."""
    now = clock.now()
    return sum(raise_due(_expiring(noticed, now, days)) for days in EXPIRY_DAYS for noticed in NOTICED)


def _expiring(noticed: Noticed, now: datetime, days: int) -> Iterator[Due]:
    """Yield the notices about credentials for which this number of days began less than LATE ago."""
    until = now + timedelta(days=days)
    rows = noticed.rows.filter(expires_at__gt=until - LATE, expires_at__lte=until).order_by("expires_at", "pk")
    same = {field: OuterRef(field) for field in noticed.same}
    newer = noticed.kind.model._default_manager.filter(revoked_at=None, pk__gt=OuterRef("pk"), **same)
    # A credential that was replaced, and is no longer used, may expire.
    for row in rows.filter(~Exists(newer.filter(_REPLACES))).iterator(_AT_ONCE):
        left = ceil((row.expires_at - now) / timedelta(days=1))
        once = f"{row.expires_at:%Y-%m-%d}:{days}"
        yield noticed.due(noticed.expires, row, once, days=left, expires_at=row.expires_at)


def check_unused() -> int:
    """Raise notices about live secrets and API keys that were last used UNUSED_DAYS ago; return their number."""
    now = clock.now()
    return sum(raise_due(_unused(noticed, now)) for noticed in NOTICED)


def _unused(noticed: Noticed, now: datetime) -> Iterator[Due]:
    """Yield the notices about credentials that became unused lately, by ranges of primary keys.

    The time of the last use has no index, because each use would have to change it.
    """
    since = now - timedelta(days=UNUSED_DAYS)
    rows = noticed.rows
    last, first = rows.aggregate(last=Max("pk"))["last"] or 0, 0
    rows = rows.annotate(used_at=Coalesce("last_used_at", "created_at")).order_by("pk")
    rows = rows.filter(used_at__gt=since - LATE, used_at__lte=since).exclude(expires_at__lte=now)
    while first < last:
        for row in rows.filter(pk__gt=first, pk__lte=first + _KEYS_AT_ONCE):
            yield noticed.due(noticed.unused, row, f"{row.used_at:%Y-%m-%d}", days=UNUSED_DAYS)
        first += _KEYS_AT_ONCE


# --- People ---

# New people are looked for in the counts of these last hours.
_HOURS_OF_PEOPLE = timedelta(hours=3)


def check_people() -> int:
    """Raise notices about projects near or at the limit of people; return their number.

    Only projects that someone joined in the last hours are counted.
    """
    if not settings.UNVERIFIED_APP_PEOPLE:
        return 0
    hour = clock.now().replace(minute=0, second=0, microsecond=0)
    joined = SignInHour.objects.filter(hour__gte=hour - _HOURS_OF_PEOPLE, step=Step.NEW_PERSON)
    clients = Client.objects.filter(pk__in=joined.values("client"), project__deleted_at=None)
    projects = iter(clients.order_by("project").values_list("project", flat=True).distinct())
    return sum(raise_due(_near(some)) for some in iter(lambda: list(islice(projects, _AT_ONCE)), []))


def _near(projects: Iterable[int]) -> Iterator[Due]:
    for usage in near_limit(projects):
        kind = NoticeKind.PEOPLE_AT_LIMIT if usage.is_full else NoticeKind.PEOPLE_NEAR_LIMIT
        details = {"people": usage.people, "limit": usage.limit}
        yield Due(usage.project.pk, kind, str(usage.limit), details)
