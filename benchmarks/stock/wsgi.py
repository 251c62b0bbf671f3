"""The WSGI application of the comparison."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.stock.settings")

application = get_wsgi_application()
