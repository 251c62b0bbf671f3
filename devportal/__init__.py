from devportal.celery import app as celery_app

# Of the whole service, and here alone: /health/live and the bill of materials read it.
__version__ = "0.1.0"

__all__ = ["__version__", "celery_app"]
