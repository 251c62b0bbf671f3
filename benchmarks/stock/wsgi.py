"""The WSGI application of stock django-oauth-toolkit."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.stock.settings")

application = get_wsgi_application()
