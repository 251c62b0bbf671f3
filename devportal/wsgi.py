"""The WSGI application."""

import os

import django
from django.conf import settings
from django.db import connections
from django.utils.module_loading import import_string

from devportal.lib.wsgi import UTF8Handler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")

django.setup(set_prefix=False)
application = UTF8Handler()

for start in settings.WORKER_STARTS:
    import_string(start)()
connections.close_all()  # requests have connections of their own (devportal/lib/server/slots.py)
