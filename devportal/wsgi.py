"""The WSGI application."""

import os

import django
from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from core.serving.worker_start import run_starts
from core.serving.wsgi import UTF8Handler
from core.settings_checks import find_dangers
from core.telemetry import exporter, metrics, tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")

django.setup(set_prefix=False)
# Whatever server loads this. With an exception, and no exit, servers know that another worker would fare no better.
if dangers := find_dangers():
    raise ImproperlyConfigured(dangers)
# Before the middleware is loaded, which both add to.
if exporter.is_started():
    metrics.enable()
tracing.start("web")
application = UTF8Handler()

run_starts()
connections.close_all()  # requests have connections of their own (core/serving/slots.py)
