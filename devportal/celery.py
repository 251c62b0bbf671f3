"""The Celery application: `celery -A devportal worker`, `celery -A devportal beat`."""

import logging.config
import os
import sys
from typing import Any

import django
from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")
# Celery's command line reads BROKER_URL as well, and stores it here, where it counts more than the settings. But kombu
# does not know all of its forms, and would not check certificates for rediss:// (core/redis_address.py).
os.environ.pop("CELERY_BROKER_URL", None)

app = Celery("devportal", task_cls="core.tasks.QuietTask")
app.config_from_object("django.conf:settings", namespace="CELERY")


def check_settings(**kwargs: Any) -> None:
    """Run the checks of `manage.py serve`, and exit with 1 on an error (docs/settings.md#checks-at-the-start)."""
    django.setup()
    from django.db import connections

    from core import settings_checks

    if dangers := settings_checks.find_dangers():
        # Celery has already replaced sys.stderr with a logger, which does not print while the process exits.
        print(dangers, file=sys.__stderr__)
        raise SystemExit(1)
    settings_checks.log_stored_dangers()
    connections.close_all()  # forked processes must not share a connection


for begins in (signals.celeryd_init, signals.beat_init):
    begins.connect(check_settings)


def use_logging_of_the_settings(**kwargs: Any) -> None:
    """Log like the web processes, with redaction. Celery sets up no logging if this signal has a receiver."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)


signals.setup_logging.connect(use_logging_of_the_settings)


def limit_waits(**kwargs: Any) -> None:
    """Limit how long tasks wait for the database, before the worker starts its processes."""
    from core.database.postgres import limits

    limits.apply_to_tasks()


signals.worker_init.connect(limit_waits)
