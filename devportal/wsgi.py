"""The WSGI application."""

import os

import django
from django.conf import settings
from django.utils.module_loading import import_string

from devportal.lib.telemetry import exporter, metrics, tracing
from devportal.lib.wsgi import UTF8Handler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")

django.setup(set_prefix=False)
# Before the middleware is loaded, which both add to.
if exporter.is_started():
    metrics.enable()
tracing.start("web")
application = UTF8Handler()

for start in settings.WORKER_STARTS:
    import_string(start)()
