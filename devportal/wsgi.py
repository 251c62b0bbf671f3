"""The WSGI application."""

import os

import django
from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from core.serving.application import UTF8Handler
from core.serving.worker_start import run_starts
from core.settings_checks import find_dangers
from core.telemetry import exporter, metrics, tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")

django.setup(set_prefix=False)
# For any server that loads this module. An exception tells the server that other workers would fail as well.
if dangers := find_dangers():
    raise ImproperlyConfigured(dangers)
if exporter.is_started():
    metrics.enable()
tracing.start("web")  # before the middleware is loaded, because it adds to it
application = UTF8Handler()

run_starts()
connections.close_all()  # requests use separate connections (core/serving/slots.py)
