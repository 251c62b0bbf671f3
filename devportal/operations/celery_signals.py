"""Receivers of Celery's signals: metrics, traces, and the runs of periodic tasks."""

import logging
from typing import Any

from celery import signals
from django.conf import settings

from core.http import request_id
from core.telemetry import exporter, metrics, tracing
from devportal.operations import readers, task_runs

log = logging.getLogger(__name__)


def start_worker_metrics(**kwargs: Any) -> None:
    """Serve the metrics of the worker and its child processes. It runs before the worker forks."""
    _start_metrics("worker", settings.WORKER_METRICS_PORT, with_state=True)


def start_beat_metrics(**kwargs: Any) -> None:
    """Serve the metrics of beat, and trace the tasks that it sends."""
    _start_metrics("beat", settings.BEAT_METRICS_PORT, with_state=False)
    tracing.start("beat")


def _start_metrics(role: str, port: int, *, with_state: bool) -> None:
    if not port:
        return
    try:
        exporter.start(settings.METRICS_ADDRESS, port, role, readers.readers() if with_state else ())
    except OSError as error:
        log.error("Metrics can't be served on port %d: %s.", port, error.strerror)
        return
    metrics.enable()


def start_process_traces(**kwargs: Any) -> None:
    """Set up tracing in this process of the worker, because the exporting threads do not survive a fork."""
    tracing.start("worker")


def begin_task(task_id: str, task: Any, **kwargs: Any) -> None:
    """Add the task's id to its log lines, in the field of the request id."""
    if not task.request.is_eager:
        request_id.set_current(task_id)


def end_task(task: Any, **kwargs: Any) -> None:
    """Remove the id from log lines between tasks."""
    if not task.request.is_eager:
        request_id.set_current(request_id.NONE)


def count_success(sender: Any, **kwargs: Any) -> None:
    """Count a successful task, and store the time of a periodic one."""
    metrics.TASK_RUNS.count(sender.name, "succeeded")
    task_runs.note_success(sender.name, kwargs.get("runtime") or 0.0)


def count_failure(sender: Any, **kwargs: Any) -> None:
    """Count a failed task, and store the time of a periodic one."""
    metrics.TASK_RUNS.count(sender.name, "failed")
    task_runs.note_failure(sender.name)


def note_sent(sender: str, **kwargs: Any) -> None:
    """Count a queued task."""
    metrics.TASKS_SENT.count(sender)


signals.worker_init.connect(start_worker_metrics)
signals.beat_init.connect(start_beat_metrics)
signals.worker_process_init.connect(start_process_traces)
signals.task_prerun.connect(begin_task)
signals.task_postrun.connect(end_task)
signals.task_success.connect(count_success)
signals.task_failure.connect(count_failure)
signals.after_task_publish.connect(note_sent)
