"""Reads the metrics of what the database, Redis and the broker hold (docs/monitoring.md#metrics)."""

from django.conf import settings
from django.db import connection

from devportal.console.operations import figures, task_runs
from devportal.lib import clock, redis_address
from devportal.lib.bounded import bounded_statements
from devportal.lib.ratelimit.counters import counters
from devportal.lib.telemetry.state import Figure, StateReader

STATEMENT_MILLISECONDS = 1000
REDIS_SECONDS = 1.0


def readers() -> list[StateReader]:
    """Return the readers for a process that serves metrics."""
    found = [StateReader("database", read_database)]
    if settings.REDIS_URL:
        found.append(StateReader("redis", read_redis))
    if settings.CELERY_BROKER_URL.startswith(("redis://", "rediss://")):
        found.append(StateReader("broker", read_broker))
    return found


def read_database() -> list[Figure]:
    """Read the figures on a connection that is closed again: the next reading may come from another thread."""
    try:
        return read_database_figures()
    finally:
        connection.close()


def read_database_figures() -> list[Figure]:
    """Read outbox, reviews, keys, tasks and connections."""
    with bounded_statements(STATEMENT_MILLISECONDS):
        return [*_outbox(), *_reviews(), *_keys(), *_tasks(), *_connections()]


def _outbox() -> list[Figure]:
    waiting = figures.waiting_mail()
    return [
        Figure("outbox_waiting", "Mails that wait in the outbox", waiting.number),
        Figure("outbox_oldest_seconds", "Age of the oldest mail that waits", _age(waiting)),
        Figure("outbox_given_up", "Mails that were given up, while they are kept", figures.given_up_mail()),
    ]


def _reviews() -> list[Figure]:
    waiting = figures.waiting_reviews()
    return [
        Figure("reviews_waiting", "Reviews that wait for a reviewer", waiting.number),
        Figure("reviews_oldest_seconds", "Age of the oldest review that waits", _age(waiting)),
    ]


def _age(waiting: figures.Waiting) -> float:
    return (clock.now() - waiting.oldest).total_seconds() if waiting.oldest else 0.0


def _keys() -> list[Figure]:
    keys = figures.signing_keys()
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
    found = figures.database_connections()
    if found is None:
        return []
    used, most = found
    return [
        Figure("database_connections", "Connections to the database, of whomever", used),
        Figure("database_connections_max", "Connections that its server allows", most),
    ]


def read_redis() -> list[Figure]:
    """Read how many log entries wait in Redis."""
    shared = counters().shared
    waiting = shared.entries_waiting() if shared is not None else 0
    return [Figure("log_entries_waiting", "Entries of logs that wait to be written", waiting)]


def read_broker() -> list[Figure]:
    """Read how many tasks wait, by queue, where the broker is Redis."""
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
