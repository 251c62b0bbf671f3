"""The Celery application: `celery -A devportal worker`, `celery -A devportal beat`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")

app = Celery("devportal")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
