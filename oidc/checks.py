"""System checks: settings that would be wrong or dangerous in production stop the start."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register


@register(Tags.security)
def production_settings(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.E001` to `E008`; see docs/settings.md."""
    found: list[CheckMessage] = []
    if settings.ENVIRONMENT not in ("embedded", "production"):
        found.append(Error("ENVIRONMENT must be embedded or production.", id="devportal.E001"))
    for name in ("AUTH_URL", "BASE_URL"):
        parts = urlsplit(getattr(settings, name))
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            found.append(Error(f"{name} must be an http(s) address without query.", id="devportal.E002"))
    if settings.ENVIRONMENT != "production":
        return found
    if settings.DEBUG:
        found.append(Error("DEBUG shows secrets to strangers.", id="devportal.E003"))
    if not settings.ISSUER.startswith("https://"):
        found.append(Error("The issuer must be https.", hint="Set AUTH_URL.", id="devportal.E004"))
    for name in ("SECRET_KEY", "KEY_ENCRYPTION_KEY"):
        if len(getattr(settings, name)) < 32:
            found.append(Error(f"{name} is missing or shorter than 32 characters.", id="devportal.E005"))
    if not settings.REDIS_URL:
        found.append(
            Error(
                "Counters would be counted in each process apart.", hint="Set REDIS_URL.", id="devportal.E006"
            )
        )
    if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        found.append(Error("SQLite serves one process only.", hint="Set DATABASE_URL.", id="devportal.E007"))
    if settings.EMAIL_BACKEND.endswith("DemoBackend"):
        found.append(Error("Mail would only be printed.", hint="Set EMAIL_URL.", id="devportal.E008"))
    return found
