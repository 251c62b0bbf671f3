"""The Celery application: `celery -A devportal worker`, `celery -A devportal beat`."""

import logging.config
import os
import sys
from typing import Any

import django
from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")

app = Celery("devportal", task_cls="core.tasks.QuietTask")
app.config_from_object("django.conf:settings", namespace="CELERY")


def check_settings(**kwargs: Any) -> None:
    """Run the checks of `manage.py serve`; exit with 1 and what is wrong (docs/settings.md#checks-at-the-start)."""
    django.setup()
    from django.db import connections

    from core import settings_checks

    if dangers := settings_checks.find_dangers():
        # Celery has put a logger in place of sys.stderr by now, which is silent when the process exits.
        print(dangers, file=sys.__stderr__)
        raise SystemExit(1)
    settings_checks.log_stored_dangers()
    connections.close_all()  # no process that is forked may share one


for begins in (signals.celeryd_init, signals.beat_init):
    begins.connect(check_settings)


def use_logging_of_the_settings(**kwargs: Any) -> None:
    """Log as the web processes do, redaction included: with a receiver of this signal Celery sets up no logging."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)


signals.setup_logging.connect(use_logging_of_the_settings)


def limit_waits(**kwargs: Any) -> None:
    """Limit how long tasks wait for the database, before the worker makes its processes."""
    from core.database.postgres import limits

    limits.apply_to_tasks()


signals.worker_init.connect(limit_waits)
