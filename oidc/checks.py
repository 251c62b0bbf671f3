"""System checks of the sign-in service; an error stops `manage.py serve` (docs/settings.md#checks-at-the-start).

Those that concern every layer stand in core/settings_checks.py.
"""

import re
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError

from core.storage.object_store import BACKEND
from oidc.models import SigningKey
from oidc.signing_keys.rotation import is_readable

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
        (_has_short("SECRET_KEY_FALLBACKS"), "One of SECRET_KEY_FALLBACKS is short.", short, "E005"),
        (_has_short("KEY_ENCRYPTION_KEY_FALLBACKS"), "One of KEY_ENCRYPTION_KEY_FALLBACKS is short.", short, "E005"),
        (not settings.REDIS_URL, "Each process would count limits for itself.", "Set REDIS_URL.", "E006"),
        (database.endswith("sqlite3"), "SQLite serves one process only.", "Set DATABASE_URL.", "E007"),
        (mail.endswith("DemoBackend"), "Mail would only be printed.", "Set EMAIL_URL.", "E008"),
        (bool(settings.BILLING_SECRET) and _is_short("BILLING_SECRET"), "BILLING_SECRET is short.", short, "E009"),
    )
    return [Error(message, hint=hint, id=f"devportal.{number}") for wrong, message, hint, number in dangers if wrong]


# RFC 9116 §2.5.3: a URI, of the web by https; a bare address of a mailbox becomes one.
_CONTACT = re.compile(r"(mailto:|tel:|https://)[\x21-\x7e]+|[^\s:@]+@[^\s:@]+", re.ASCII)
_POLICY = re.compile(r"https://[\x21-\x7e]+")


@register(Tags.security)
def check_security_contact(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.E041`: what /.well-known/security.txt would name is no address."""
    found: list[CheckMessage] = []
    if not all(map(_CONTACT.fullmatch, settings.SECURITY_CONTACT)):
        message = "SECURITY_CONTACT holds something else than email addresses and mailto:, tel: or https:// URLs."
        found.append(Error(message, hint="Set SECURITY_CONTACT, comma-separated.", id="devportal.E041"))
    if settings.SECURITY_POLICY and not _POLICY.fullmatch(settings.SECURITY_POLICY):
        message = "SECURITY_POLICY is no https:// URL."
        found.append(Error(message, hint="Set SECURITY_POLICY.", id="devportal.E041"))
    return found


@register(Tags.files)
def check_media_storage(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.E040`: pictures in an object store need packages that the service runs without otherwise."""
    if settings.STORAGES["default"]["BACKEND"] != BACKEND or all(map(find_spec, ("storages", "boto3"))):
        return []
    message = "MEDIA_STORAGE_URL is set, and django-storages or boto3 is not installed."
    return [Error(message, hint="Install requirements/extras.txt.", id="devportal.E040")]


def _is_short(name: str) -> bool:
    try:
        return len(getattr(settings, name)) < MIN_SECRET_LENGTH
    except ImproperlyConfigured:  # Django's answer to an empty SECRET_KEY
        return True


def _has_short(name: str) -> bool:
    return any(len(key) < MIN_SECRET_LENGTH for key in getattr(settings, name))


@register(Tags.database)
def check_signing_keys(app_configs: Any, databases: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.E017`: KEY_ENCRYPTION_KEY is not the one that the keys in the database were encrypted with."""
    if not databases:  # it reads the keys, so it runs where Django's own do: at `migrate`, or with --database
        return []
    try:
        rows = list(SigningKey.objects.exclude(state=SigningKey.State.RETIRED).order_by("state"))
    except DatabaseError:  # not migrated yet, or away: /health/ready tells
        return []
    return [
        Error(
            f"KEY_ENCRYPTION_KEY: the {row.state} signing key was encrypted with another key, and can't be read.",
            hint="Set the key that it was encrypted with, or add that one to KEY_ENCRYPTION_KEY_FALLBACKS. If it is "
            "lost: manage.py discard_unreadable.",
            id="devportal.E017",
        )
        for row in rows
        if not is_readable(row)
    ]
