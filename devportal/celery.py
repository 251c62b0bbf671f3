"""The Celery application: `celery -A devportal worker`, `celery -A devportal beat`."""

import os
from typing import Any

from celery import Celery
from celery.signals import worker_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")

app = Celery("devportal")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def limit_waits(**kwargs: Any) -> None:
    """Limit how long tasks wait for the database, before the worker makes its processes."""
    from devportal.lib.postgres import limits

    limits.apply_to_tasks()


worker_init.connect(limit_waits)
