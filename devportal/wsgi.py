"""The WSGI application."""

import os
from importlib import import_module

import django
from django.conf import settings
from django.utils.module_loading import import_string

from devportal.lib.wsgi import UTF8Handler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")

django.setup(set_prefix=False)
application = UTF8Handler()

for start in settings.WORKER_STARTS:
    import_string(start)()

# Parsing a private key takes longer than answering a request, so it is done before the first one.
import_module("oidc.signing_keys.keyring").preload_keyring()
