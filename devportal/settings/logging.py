"""Logging: where log lines go, and what they must not contain."""

from typing import Any

from devportal.settings.environment import AUDIT_LOG, LOG_FORMAT, LOG_LEVEL, REFUSALS_LOGGED_PER_MINUTE

# The file is opened with the first line, so that each worker process has its own.
_audit_handler: dict[str, Any] = {"filters": ["no_secrets"], "formatter": "message"}
if AUDIT_LOG in ("", "stdout"):
    _audit_handler |= {"class": "core.audit_log.StreamHandler", "stream": "ext://sys.stdout"}
else:
    _audit_handler |= {"class": "core.audit_log.FileHandler", "filename": AUDIT_LOG, "delay": True, "encoding": "utf-8"}

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "no_secrets": {"()": "core.logging.RedactingFilter"},
        "request": {"()": "core.logging.RequestIdFilter"},
        "refusals": {"()": "core.logging.RefusalFilter", "per_minute": REFUSALS_LOGGED_PER_MINUTE},
        "outages": {"()": "core.logging.OutageFilter"},
    },
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"},
        "json": {"()": "core.logging.RedactingJsonFormatter"},
        "message": {"format": "%(message)s"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["refusals", "request", "outages", "no_secrets"],
            "formatter": "json" if LOG_FORMAT == "json" else "line",
        },
        "audit": _audit_handler,
    },
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "openport.audit": {"handlers": ["audit"], "level": "INFO", "propagate": False},
        "django": {"handlers": ["stderr"], "level": LOG_LEVEL, "propagate": False},
        # Below INFO, these two log codes, tokens and secrets.
        "oauthlib": {"level": "INFO"},
        "oauth2_provider": {"level": "INFO"},
        # Below INFO, it logs the whole context of a page if its template uses a missing variable.
        "django.template": {"level": "INFO"},
        # It would log the signatures of calls to the object store.
        "botocore": {"level": "INFO"},
        # They would log each task when it is sent, received and done, many a minute. Failures are logged as errors.
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
    },
}
