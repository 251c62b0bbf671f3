"""System checks of the sign-in service; an error stops `manage.py serve` (docs/settings.md#checks-at-the-start).

Checks that concern every layer are in core/settings_checks.py.
"""

import re
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError

from core.environment import web_url_parts
from core.storage.object_store import BACKEND
from oidc.models import SigningKey
from oidc.tokens.signing_keys import is_readable

MIN_SECRET_LENGTH = 32


@register(Tags.security)
def check_urls(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.E001` and `E002`: check the environment's name and the public URLs."""
    found: list[CheckMessage] = []
    if settings.ENVIRONMENT not in ("embedded", "production"):
        found.append(Error("ENVIRONMENT must be embedded or production.", id="devportal.E001"))
    for name in ("AUTH_URL", "BASE_URL", "ADMIN_URL"):
        url = getattr(settings, name)
        if name == "ADMIN_URL" and not url:  # defaults to AUTH_URL
            continue
        if not _is_origin(url):
            text = f"{name} must be an http(s) URL of a host, with a port if necessary, and nothing else."
            hint = "Write it like https://id.example.com. A name with letters such as ä has the form xn--…."
            found.append(Error(text, hint=hint, id="devportal.E002"))
    return found


_HOST = re.compile(r"[A-Za-z0-9_.:-]+")  # a name or an IP address


def _is_origin(url: str) -> bool:
    """Return whether a URL has a host, perhaps a port, and nothing else: all paths of the service begin at the root."""
    parts = web_url_parts(url)
    if parts is None or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return False
    return _HOST.fullmatch(parts.hostname or "") is not None


_PREFIXES = ("CLIENT_ID_PREFIX", "CLIENT_SECRET_PREFIX", "API_KEY_PREFIX")
_PREFIX = re.compile(r"[A-Za-z0-9_-]{1,64}")
_JWT_BEGINNING = "eyJ"


@register(Tags.security)
def check_prefixes(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.E021`: check that credentials can be told apart by their prefixes, and found by scanners.

    With an empty prefix, for example, every access token would count as an API key.
    """
    named = {name: getattr(settings, name) for name in _PREFIXES}
    found: list[CheckMessage] = []
    for name, prefix in named.items():
        others = [_JWT_BEGINNING, *(other for key, other in named.items() if key != name)]
        if not _PREFIX.fullmatch(prefix) or any(other.startswith(prefix) for other in others):
            text = f"{name} must be 1 to 64 letters, digits, _ and -, and not the beginning of another prefix."
            hint = f"Access tokens begin with {_JWT_BEGINNING}, so it must not be the beginning of that either."
            found.append(Error(text, hint=hint, id="devportal.E021"))
    return found


@register(Tags.security)
def check_production(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.E003` to `E009`: reject settings that are dangerous in production."""
    if settings.ENVIRONMENT != "production":
        return []
    database, mail = settings.DATABASES["default"]["ENGINE"], settings.EMAIL_BACKEND
    is_admin_without_https = settings.ADMIN_URL != "" and not settings.ADMIN_URL.startswith("https://")
    short = f"Give it at least {MIN_SECRET_LENGTH} random characters."
    dangers = (
        (settings.DEBUG, "DEBUG shows secrets to visitors.", "Remove DEBUG.", "E003"),
        (not settings.ISSUER.startswith("https://"), "The issuer must be https.", "Set AUTH_URL.", "E004"),
        (is_admin_without_https, "ADMIN_URL must be https.", "Set ADMIN_URL.", "E004"),
        (_is_short("SECRET_KEY"), "SECRET_KEY is missing or short.", short, "E005"),
        (_is_short("KEY_ENCRYPTION_KEY"), "KEY_ENCRYPTION_KEY is missing or short.", short, "E005"),
        (_has_short("SECRET_KEY_FALLBACKS"), "One of SECRET_KEY_FALLBACKS is short.", short, "E005"),
        (_has_short("KEY_ENCRYPTION_KEY_FALLBACKS"), "One of KEY_ENCRYPTION_KEY_FALLBACKS is short.", short, "E005"),
        (not settings.REDIS_URL, "Each process would count rate limits separately.", "Set REDIS_URL.", "E006"),
        (database.endswith("sqlite3"), "SQLite serves one process only.", "Set DATABASE_URL.", "E007"),
        (mail.endswith("DemoBackend"), "Mail would only be printed.", "Set EMAIL_URL.", "E008"),
        (bool(settings.BILLING_SECRET) and _is_short("BILLING_SECRET"), "BILLING_SECRET is short.", short, "E009"),
    )
    return [Error(message, hint=hint, id=f"devportal.{number}") for wrong, message, hint, number in dangers if wrong]


# RFC 9116 §2.5.3: a contact is a URI, and a web URI must use https. A bare email address becomes a mailto: URI.
_CONTACT = re.compile(r"(mailto:|tel:|https://)[\x21-\x7e]+|[^\s:@]+@[^\s:@]+", re.ASCII)
_POLICY = re.compile(r"https://[\x21-\x7e]+")


@register(Tags.security)
def check_security_contact(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.E041`: check that /.well-known/security.txt can publish the contacts and the policy."""
    found: list[CheckMessage] = []
    if not all(map(_CONTACT.fullmatch, settings.SECURITY_CONTACT)):
        message = "SECURITY_CONTACT may only hold email addresses and mailto:, tel: or https:// URLs."
        found.append(Error(message, hint="Set SECURITY_CONTACT, comma-separated.", id="devportal.E041"))
    if settings.SECURITY_POLICY and not _POLICY.fullmatch(settings.SECURITY_POLICY):
        message = "SECURITY_POLICY is not an https:// URL."
        found.append(Error(message, hint="Set SECURITY_POLICY.", id="devportal.E041"))
    return found


@register(Tags.security, Tags.files)
def check_media_storage(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.E040`: check that the optional packages for an object store are installed if one is configured."""
    if settings.STORAGES["default"]["BACKEND"] != BACKEND or all(map(find_spec, ("storages", "boto3"))):
        return []
    message = "MEDIA_STORAGE_URL is set, but django-storages or boto3 is not installed."
    return [Error(message, hint="Install requirements/extras.txt.", id="devportal.E040")]


def _is_short(name: str) -> bool:
    try:
        return len(getattr(settings, name)) < MIN_SECRET_LENGTH
    except ImproperlyConfigured:  # Django raises it for an empty SECRET_KEY
        return True


def _has_short(name: str) -> bool:
    return any(len(key) < MIN_SECRET_LENGTH for key in getattr(settings, name))


@register(Tags.database)
def check_signing_keys(app_configs: Any, databases: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.E017`: check that KEY_ENCRYPTION_KEY decrypts the keys in the database."""
    if not databases:  # like Django's database checks, this one runs only at `migrate` or with --database
        return []
    try:
        rows = list(SigningKey.objects.exclude(state=SigningKey.State.RETIRED).order_by("state"))
    except DatabaseError:  # not migrated yet, or unavailable, which /health/ready reports
        return []
    return [
        Error(
            f"KEY_ENCRYPTION_KEY: the {row.state} signing key was encrypted with another key, and can't be read.",
            hint="Set KEY_ENCRYPTION_KEY to that key, or add that key to KEY_ENCRYPTION_KEY_FALLBACKS. If that key is "
            "lost, run manage.py discard_unreadable.",
            id="devportal.E017",
        )
        for row in rows
        if not is_readable(row)
    ]
