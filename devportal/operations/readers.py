"""Figures about the database, Redis and the broker, for metrics and the overview (docs/monitoring.md)."""

import contextlib
import json
import shutil
from datetime import datetime, timedelta
from functools import partial
from http.client import HTTPConnection
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, connections
from django.db.models import Count, Exists, Max, Min, OuterRef, Q

from accounts.mail.delivery import was_refused
from accounts.models import Outbox
from api.models import RequestLog
from core import clock, redis_address
from core.database.postgres import replica
from core.database.postgres.limits import bounded_statements
from core.limits.counters import counters
from core.telemetry.exporter import Figure, StateReader
from devportal.console.models import SignInEvent
from devportal.operations import backups, task_runs
from devportal.review.models import AppReview, ReviewCase
from oidc.events import sending
from oidc.models import Client, Delivery, EventReceiver, Project, SigningKey, TakenPlace
from oidc.projects.people import annotate_people_counted, counted_connections

# How many rows of a log are counted at most, from the newest on.
MOST_COUNTED = 50_000
# How many waiting mails and deliveries, and projects near their user limit, are counted at most.
MOST_WAITING = 10_000
MOST_PROJECTS = 5
MOST_COUNTED_PROJECTS = 100
# From this share of its user limit on, a project is near it.
NEAR_LIMIT = 0.8


class Waiting(NamedTuple):
    """The number of waiting items, and since when the oldest one waits."""

    number: int
    oldest: datetime | None


class SigningKeys(NamedTuple):
    """Since when the active key has been signing, and the next one has been published."""

    active_since: datetime | None
    next_since: datetime | None

    @property
    def expires_at(self) -> datetime | None:
        """When the active key should stop signing."""
        return self.active_since and self.active_since + timedelta(seconds=settings.SIGNING_KEY_LIFETIME_SECONDS)


def waiting_mail() -> Waiting:
    """Return the emails that wait in the outbox, counted up to MOST_WAITING, and since when the oldest could be sent.

    A mail that the mail server refuses is tried for three days, for example if the mailbox no longer exists. It counts
    as waiting, but for the second figure only as long as the server has accepted no later mail.
    """
    sent_since = Exists(Outbox.objects.filter(created_at__gt=OuterRef("created_at"), sent_at__isnull=False))
    rows = Outbox.objects.waiting().annotate(is_only_refused=was_refused() & Q(sent_since))
    found = rows.order_by("not_before")[:MOST_WAITING].aggregate(
        number=Count("pk"), oldest=Min("created_at", filter=Q(is_only_refused=False))
    )
    return Waiting(found["number"], found["oldest"])


def given_up_mail() -> int:
    """Return the number of stored emails that could not be sent, up to MOST_WAITING.

    Emails with a code do not count: they end when the code does, and everyone who mistypes an email address causes one.
    """
    return Outbox.objects.filter(given_up_at__isnull=False, expires_at=None)[:MOST_WAITING].count()


def waiting_deliveries() -> Waiting:
    """Return the deliveries that wait, counted up to MOST_WAITING, and since when the oldest could have been sent.

    Deliveries to apps that fail, or are paused or off, count as waiting, but not for the second figure.
    """
    return Waiting(Delivery.objects.waiting()[:MOST_WAITING].count(), sending.oldest_due())


def paused_receivers() -> int:
    """Return the number of receivers that are paused, because their apps kept failing."""
    return EventReceiver.objects.exclude(url="").filter(paused_at__isnull=False).count()


def signing_keys() -> SigningKeys:
    """Return the state of the signing keys."""
    active, following = Q(state=SigningKey.State.ACTIVE), Q(state=SigningKey.State.NEXT)
    found = SigningKey.objects.aggregate(
        active=Max("activated_at", filter=active), following=Max("created_at", filter=following)
    )
    return SigningKeys(found["active"], found["following"])


def waiting_reviews() -> Waiting:
    """Return the reviews that wait for a reviewer."""
    found = AppReview.objects.waiting().order_by().aggregate(number=Count("pk"), oldest=Min("submitted_at"))
    return Waiting(found["number"], found["oldest"])


def open_cases() -> tuple[int, int, datetime | None]:
    """Return how many cases are open, how many of them are late, and when the oldest was opened."""
    rows = ReviewCase.objects.filter(closed_at=None, project__deleted_at=None).order_by()
    late = Q(opened_at__lt=clock.now() - timedelta(days=settings.CASE_TARGET_DAYS)) & ~Q(kind=ReviewCase.Kind.RE_REVIEW)
    found = rows.aggregate(number=Count("pk"), late=Count("pk", filter=late), oldest=Min("opened_at"))
    return found["number"], found["late"], found["oldest"]


def sign_ins(hours: int = 24) -> dict[str, int]:
    """Return the number of sign-ins to apps by outcome. `signed_in_before` is `signed_in` in the period before."""
    now = clock.now()
    turn, begin = now - timedelta(hours=hours), now - timedelta(hours=2 * hours)
    rows = SignInEvent.objects.filter(at__gte=begin).order_by("-at")[:MOST_COUNTED]
    counts: dict[str, Any] = {"all_rows": Count("pk")}
    for outcome in SignInEvent.Outcome.values:
        counts[outcome] = Count("pk", filter=Q(outcome=outcome, at__gte=turn))
        counts[f"{outcome}_before"] = Count("pk", filter=Q(outcome=outcome, at__lt=turn))
    return dict(rows.aggregate(**counts))


def api_calls(hours: int = 24) -> dict[str, int]:
    """Return the calls of the developer API in these hours: `all_rows`, `refused` (4xx) and `failed` (5xx)."""
    begin = clock.now() - timedelta(hours=hours)
    rows = RequestLog.objects.filter(at__gte=begin, project__isnull=False).order_by("-at")[:MOST_COUNTED]
    refused, failed = Q(status__gte=400, status__lt=500), Q(status__gte=500)
    return dict(
        rows.aggregate(all_rows=Count("pk"), refused=Count("pk", filter=refused), failed=Count("pk", filter=failed))
    )


def projects_near_limit() -> list[Project]:
    """Return projects whose apps without a review are near their user limit (docs/review.md#people).

    Exact counts are only read for projects with roughly that many connections, and for at most MOST_COUNTED_PROJECTS.
    """
    near = max(int(settings.UNVERIFIED_APP_PEOPLE * NEAR_LIMIT), 1)
    clients = Client.objects.filter(verified_at=None, first_party=False, enabled=True, project=OuterRef("pk"))
    people = counted_connections(OuterRef("pk")).order_by()
    places = TakenPlace.objects.filter(project=OuterRef("pk")).order_by()
    # People are either in connections or in places, so one of these tables has at least half of the people.
    many = Exists(people[(near - 1) // 2 :][:1]) | Exists(places[(near - 1) // 2 :][:1])
    rows = Project.objects.filter(Exists(clients), many, deleted_at=None).order_by().values_list("pk", flat=True)
    counted = annotate_people_counted(Project.objects.filter(pk__in=list(rows[:MOST_COUNTED_PROJECTS])))
    return list(counted.filter(people_counted__gte=near).order_by("pk")[:MOST_PROJECTS])


def database_connections() -> tuple[int, int] | None:
    """Return the number of connections to this database, and the maximum of its server; None on SQLite."""
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), current_setting('max_connections')::int "
            "FROM pg_stat_activity WHERE datname = current_database()"
        )
        used, most = cursor.fetchone() or (0, 0)
    return used, most


STATEMENT_MILLISECONDS = 1000
REDIS_SECONDS = 1.0
READY_SECONDS = 4.5  # less than exporter.WAIT_SECONDS; without PostgreSQL, /health/ready takes up to four


def readers(address: str = "") -> list[StateReader]:
    """Return the readers for a process that serves metrics; `address` is the IP address that its server listens on."""
    found = [StateReader("database", read_database), StateReader("media", read_media)]
    if address:
        found.append(StateReader("web", partial(read_readiness, address)))
    if replica.ALIAS in settings.DATABASES:
        found.append(StateReader("replica", read_replica))
    if settings.REDIS_URL:
        found.append(StateReader("redis", read_redis))
    if settings.CELERY_BROKER_URL.startswith(("redis://", "rediss://")):
        found.append(StateReader("broker", read_broker))
    return found


def read_database() -> list[Figure]:
    """Read the figures and close the connection, because the next reading may come from another thread."""
    try:
        return read_database_figures()
    finally:
        connection.close()


def read_database_figures() -> list[Figure]:
    """Read outbox, deliveries, reviews, keys, tasks and connections."""
    with bounded_statements(STATEMENT_MILLISECONDS):
        return [*_outbox(), *_deliveries(), *_reviews(), *_keys(), *_tasks(), *_connections()]


def _outbox() -> list[Figure]:
    waiting = waiting_mail()
    return [
        Figure("outbox_waiting", "Emails that wait in the outbox", waiting.number),
        Figure("outbox_oldest_seconds", "Age of the oldest mail that waits", _age(waiting)),
        Figure("outbox_given_up", "Emails without a code that were given up, while they are kept", given_up_mail()),
    ]


def _deliveries() -> list[Figure]:
    waiting = waiting_deliveries()
    return [
        Figure("deliveries_waiting", "Events that wait for their delivery to an app", waiting.number),
        Figure("deliveries_oldest_seconds", "For how long the oldest could have been sent", _age(waiting)),
        Figure("receivers_paused", "Receivers that are paused because they kept failing", paused_receivers()),
    ]


def _reviews() -> list[Figure]:
    waiting = waiting_reviews()
    return [
        Figure("reviews_waiting", "Reviews that wait for a reviewer", waiting.number),
        Figure("reviews_oldest_seconds", "Age of the oldest review that waits", _age(waiting)),
    ]


def _age(waiting: Waiting) -> float:
    return (clock.now() - waiting.oldest).total_seconds() if waiting.oldest else 0.0


def _keys() -> list[Figure]:
    keys = signing_keys()
    found = [
        Figure("signing_key_active", "Whether a key signs", float(keys.active_since is not None)),
        Figure("signing_key_next_published", "Whether the next key is published", float(keys.next_since is not None)),
    ]
    if keys.active_since and keys.expires_at:
        age, left = clock.now() - keys.active_since, keys.expires_at - clock.now()
        found += [
            Figure("signing_key_age_seconds", "For how long the active key has signed", age.total_seconds()),
            Figure("signing_key_left_seconds", "Until the next key should sign", left.total_seconds()),
        ]
    return found


def _tasks() -> list[Figure]:
    found = []
    for state in task_runs.task_states():
        labels = {"task": state.task}
        text = "When the task last succeeded, or was first expected to"
        found.append(Figure("task_last_success_timestamp_seconds", text, state.since.timestamp(), labels))
        found.append(Figure("task_interval_seconds", "Time between two runs of the task", state.interval, labels))
    return found


def _connections() -> list[Figure]:
    found = database_connections()
    if found is None:
        return []
    used, most = found
    return [
        Figure("database_connections", "Connections to the database, of all clients", used),
        Figure("database_connections_max", "Connections that its server allows", most),
    ]


def read_media() -> list[Figure]:
    """Read the space for uploaded files, whose folder comes with the first one, and the time of the last backup."""
    space = shutil.disk_usage(
        next(path for path in (settings.MEDIA_ROOT, *settings.MEDIA_ROOT.parents) if path.exists())
    )
    found = [
        Figure("media_free_bytes", "Free space for uploaded files", space.free),
        Figure("media_size_bytes", "Size of the file system of uploaded files", space.total),
    ]
    with contextlib.suppress(FileNotFoundError):  # no backup yet
        at = backups.LAST.stat().st_mtime
        found.append(Figure("backup_last_success_timestamp_seconds", "When the last backup succeeded", at))
    return found


def read_readiness(address: str) -> list[Figure]:
    """Ask the web processes what /health/ready says. Raises OSError without a response."""
    web = HTTPConnection(address, settings.PORT, timeout=READY_SECONDS)
    try:
        web.request("GET", "/health/ready")
        missing = json.load(web.getresponse())["missing"]
    finally:
        web.close()
    text = "Whether /health/ready finds this part"
    parts = ("database", "signing_key", "counters")
    return [Figure("ready", text, float(part not in missing), {"part": part}) for part in parts]


def read_replica() -> list[Figure]:
    """Read whether pages may read from the replica; close the connection, as `read_database` does."""
    try:
        return [Figure("replica_fresh", "Whether pages can read from the replica", float(replica.Freshness.look()))]
    finally:
        connections[replica.ALIAS].close()


def read_redis() -> list[Figure]:
    """Read the number of log entries that wait in Redis."""
    shared = counters().shared
    waiting = shared.entries_waiting() if shared is not None else 0
    return [Figure("log_entries_waiting", "Entries of logs that wait to be written", waiting)]


def read_broker() -> list[Figure]:
    """Read the number of waiting tasks by queue, if the broker is Redis."""
    client = redis_address.connect(settings.BROKER_URL or settings.REDIS_URL, REDIS_SECONDS, REDIS_SECONDS)
    try:
        text = "Tasks that wait for a worker"
        return [Figure("queue_length", text, client.llen(name), {"queue": name}) for name in _queues()]
    finally:
        client.close()


def _queues() -> list[str]:
    default = getattr(settings, "CELERY_TASK_DEFAULT_QUEUE", "celery")
    routes = getattr(settings, "CELERY_TASK_ROUTES", {})
    named = {route["queue"] for route in routes.values() if isinstance(route, dict) and "queue" in route}
    return sorted({default, *named})
