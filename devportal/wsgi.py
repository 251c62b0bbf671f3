"""The WSGI application."""

import os
from importlib import import_module

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")

application = get_wsgi_application()

# Parsing a private key takes longer than answering a request, so it is done before the first one.
import_module("oidc.keys").load_at_start()
