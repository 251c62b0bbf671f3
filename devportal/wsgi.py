"""The WSGI application."""

import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.utils.module_loading import import_string

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")

application = get_wsgi_application()

for start in settings.WORKER_STARTS:
    import_string(start)()

# Parsing a private key takes longer than answering a request, so it is done before the first one.
import_module("oidc.keys").load_at_start()
