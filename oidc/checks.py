"""Django system checks of the settings; an error stops `manage.py serve` (docs/settings.md#checks-at-the-start)."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured

MIN_SECRET_LENGTH = 32


@register(Tags.security)
def check_addresses(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.E001` and `E002`: the public addresses, in every environment."""
    found: list[CheckMessage] = []
    if settings.ENVIRONMENT not in ("embedded", "production"):
        found.append(Error("ENVIRONMENT must be embedded or production.", id="devportal.E001"))
    for name in ("AUTH_URL", "BASE_URL", "ADMIN_URL"):
        address = getattr(settings, name)
        if name == "ADMIN_URL" and not address:  # it is AUTH_URL
            continue
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            found.append(Error(f"{name} must be an http(s) address without query.", id="devportal.E002"))
    return found


@register(Tags.security)
def check_production(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.E003` to `E009`: settings that are dangerous in production."""
    if settings.ENVIRONMENT != "production":
        return []
    database, mail = settings.DATABASES["default"]["ENGINE"], settings.EMAIL_BACKEND
    short = f"Give it at least {MIN_SECRET_LENGTH} random characters."
    dangers = (
        (settings.DEBUG, "DEBUG shows secrets to strangers.", "Leave DEBUG out.", "E003"),
        (not settings.ISSUER.startswith("https://"), "The issuer must be https.", "Set AUTH_URL.", "E004"),
        (settings.ADMIN_URL.startswith("http:"), "The admin's address must be https.", "Set ADMIN_URL.", "E004"),
        (_is_short("SECRET_KEY"), "SECRET_KEY is missing or short.", short, "E005"),
        (_is_short("KEY_ENCRYPTION_KEY"), "KEY_ENCRYPTION_KEY is missing or short.", short, "E005"),
        (not settings.REDIS_URL, "Each process would count limits for itself.", "Set REDIS_URL.", "E006"),
        (database.endswith("sqlite3"), "SQLite serves one process only.", "Set DATABASE_URL.", "E007"),
        (mail.endswith("DemoBackend"), "Mail would only be printed.", "Set EMAIL_URL.", "E008"),
        (bool(settings.BILLING_SECRET) and _is_short("BILLING_SECRET"), "BILLING_SECRET is short.", short, "E009"),
    )
    return [Error(message, hint=hint, id=f"devportal.{number}") for wrong, message, hint, number in dangers if wrong]


def _is_short(name: str) -> bool:
    try:
        return len(getattr(settings, name)) < MIN_SECRET_LENGTH
    except ImproperlyConfigured:  # Django's answer to an empty SECRET_KEY
        return True
