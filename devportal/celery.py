"""The Celery application: `celery -A devportal worker`, `celery -A devportal beat`."""

import logging.config
import os
from typing import Any

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")

app = Celery("devportal", task_cls="devportal.lib.tasks.QuietTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def use_logging_of_the_settings(**kwargs: Any) -> None:
    """Log as the web processes do, redaction included: with a receiver of this signal Celery sets up no logging."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)


signals.setup_logging.connect(use_logging_of_the_settings)
