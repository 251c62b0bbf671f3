from devportal.celery import app as celery_app

# The only place that states the version. /health/live and the bill of materials read it.
__version__ = "0.1.0"

__all__ = ["__version__", "celery_app"]
