"""System checks of the settings: unreadable and dangerous values (docs/settings.md#checks-at-the-start)."""

import contextlib
import ipaddress
import logging
import os
import re
from collections.abc import Iterator
from email.utils import parseaddr
from itertools import combinations
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register, run_checks
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.mail import EmailMessage
from django.db import DatabaseError
from django.http.request import validate_host

from core.email_addresses import stored_address
from core.environment import host_of, is_writable, web_url_parts
from core.http import client_ip
from core.outbound.name_lookup import read_server
from core.storage import object_store

# The largest network that may contain trusted proxies: 10.0.0.0/8 and fc00::/7, the private ones.
LARGEST_NETWORK = {4: 8, 6: 7}
LOOPBACK_NAMES = ("localhost", "localhost.localdomain")
# The URLs of links, and of an operator's own sources and collector.
URLS = (
    "HELP_URL", "OTEL_EXPORTER_OTLP_ENDPOINT", "PLANS_URL", "PLAN_SOURCE_URL", "PRIVACY_URL", "PROFILE_SOURCE_URL",
    "TERMS_URL",
)  # fmt: skip
_EMAIL_ADDRESS = re.compile(r'[^\s"@]+@[^\s"@]+')
_TOKEN = re.compile(r"[\x21-\x7e]+")


def _danger(text: str, hint: str, number: str) -> CheckMessage:
    """Return an error in production, a warning elsewhere."""
    kind = Error if settings.ENVIRONMENT == "production" else checks.Warning
    return kind(text, hint=hint, id=f"devportal.{number}")


@register(Tags.security)
def check_readable(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E010`: a value that its variable can't have, such as a text for a number."""
    return [Error(problem, id="devportal.E010") for problem in settings.UNREADABLE_SETTINGS]


@register(Tags.security)
def check_numbers(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E011` and `E012`: numbers out of range, and keys that sign before they are published."""
    found: list[CheckMessage] = []
    for name, value in sorted(settings.NUMBERS.items()):
        least, most = settings.NUMBER_BOUNDS.get(name, (0, float("inf")))
        text = f"{name} is {value}. It must be from {least} to {most}."
        if value < 0 or (value == 0 and least > 0):
            found.append(Error(text, hint=f"Set {name}.", id="devportal.E011"))
        elif not least <= value <= most:
            found.append(_danger(text, f"Set {name}.", "E011"))
    ahead = settings.NUMBERS["SIGNING_KEY_PUBLISH_AHEAD_SECONDS"]
    if ahead >= settings.NUMBERS["SIGNING_KEY_LIFETIME_SECONDS"]:
        text = "SIGNING_KEY_PUBLISH_AHEAD_SECONDS must be shorter than SIGNING_KEY_LIFETIME_SECONDS."
        found.append(Error(text, hint="A key must be published before it signs.", id="devportal.E012"))
    return found


@register(Tags.security)
def check_hosts(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E013`, `E014` and `E023`: BASE_URL without https; any Host accepted; own hosts rejected."""
    found: list[CheckMessage] = []
    if settings.ENVIRONMENT == "production" and not settings.BASE_URL.startswith("https://"):
        found.append(Error("BASE_URL must be https: access tokens are sent to it.", id="devportal.E013"))
    if "*" in settings.ALLOWED_HOSTS:
        found.append(_danger("ALLOWED_HOSTS accepts any Host header.", "List the hosts, without *.", "E014"))
    for name in ("AUTH_URL", "BASE_URL", "ADMIN_URL"):
        url = getattr(settings, name)
        if url and not validate_host(host_of(url), settings.ALLOWED_HOSTS):
            text = f"ALLOWED_HOSTS does not contain the host of {name}, so all requests to it would be rejected."
            found.append(_danger(text, "List it, without scheme and port, or remove ALLOWED_HOSTS.", "E023"))
    return found


@register(Tags.security)
def check_proxies(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E015`: an invalid trusted proxy, or a network that may contain strangers."""
    found: list[CheckMessage] = []
    for proxy in settings.TRUSTED_PROXIES:
        try:
            network = client_ip.proxy_network(proxy)
        except ValueError:
            text = f"TRUSTED_PROXIES: {proxy!r} is not an IP address or network."
            found.append(Error(text, hint="Names are not looked up. Enter an IP address.", id="devportal.E015"))
            continue
        if network.prefixlen < LARGEST_NETWORK[network.version]:
            text = f"TRUSTED_PROXIES: {proxy} contains strangers, who could fake their IP address."
            found.append(_danger(text, "List only the proxies.", "E015"))
    return found


@register(Tags.security, deploy=True)
def check_proxy_in_front(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.W006`: without a buffering proxy, slow bodies can use up all threads for bodies."""
    if settings.EMBEDDED or settings.TRUSTED_PROXIES:
        return []
    text = "TRUSTED_PROXIES is empty: without a proxy, slow request bodies can block forms and token requests."
    hint = "Put a proxy that buffers requests in front, and list it (docs/operations.md#slow-callers)."
    return [checks.Warning(text, hint=hint, id="devportal.W006")]


@register(Tags.security, deploy=True)
def check_contact(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.W007`: people who need help find no contact on the pages."""
    if settings.EMBEDDED or settings.SUPPORT_EMAIL or settings.HELP_URL:
        return []
    text = "SUPPORT_EMAIL and HELP_URL are empty: people who can't sign in find no contact on the pages."
    hint = "Set SUPPORT_EMAIL, or a HELP_URL that says how to reach you."
    return [checks.Warning(text, hint=hint, id="devportal.W007")]


@register(Tags.security)
def check_equal_secrets(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E016`: one secret for two purposes, so that one leak exposes both."""
    secrets = list(_secrets())
    equal = {(one, other) for (one, a), (other, b) in combinations(secrets, 2) if a == b and one != other}
    return [
        _danger(f"{one} and {other} have the same secret.", "Use a different secret for each.", "E016")
        for one, other in sorted(equal)
    ]


def _secrets() -> Iterator[tuple[str, str]]:
    """Yield setting and secret; a fallback counts as its main setting."""
    with contextlib.suppress(ImproperlyConfigured):  # Django raises it for an empty SECRET_KEY, which is E005
        yield "SECRET_KEY", settings.SECRET_KEY
    yield from (("SECRET_KEY", key) for key in settings.SECRET_KEY_FALLBACKS)
    keys = (settings.KEY_ENCRYPTION_KEY, *settings.KEY_ENCRYPTION_KEY_FALLBACKS)
    yield from (("KEY_ENCRYPTION_KEY", key) for key in keys if key)
    for name in ("BILLING_SECRET", "SOURCE_TOKEN"):
        if value := getattr(settings, name):
            yield name, value


@register(Tags.security)
def check_outbound(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E018` and `E019`: outgoing requests to this machine, and an invalid name server."""
    found: list[CheckMessage] = []
    if settings.ENVIRONMENT == "production" and settings.OUTBOUND_LOOPBACK_PORT:
        text = "OUTBOUND_LOOPBACK_PORT lets developers send requests to this machine."
        found.append(Error(text, hint="Remove it: it is only for trying reviews locally.", id="devportal.E018"))
    for server in settings.DNS_SERVERS:
        try:
            read_server(server)
        except ValueError:
            text = f"DNS_SERVERS: {server!r} is not an IP address with a port."
            found.append(Error(text, hint="Write 192.0.2.1:53 or [2001:db8::1]:53.", id="devportal.E019"))
    return found


@register(Tags.security)
def check_mail(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.W002`: codes and passwords would be sent over a network without encryption."""
    if not settings.EMAIL_BACKEND.endswith("smtp.EmailBackend"):
        return []
    if settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL or _is_loopback(settings.EMAIL_HOST):
        return []
    text = f"EMAIL_URL: codes are sent to {settings.EMAIL_HOST} without encryption."
    return [checks.Warning(text, hint="Use smtp+tls:// or smtp+ssl://.", id="devportal.W002")]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() in LOOPBACK_NAMES


@register(Tags.security)
def check_sender(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E020`: a sender that is not an email address, so that no mail could be sent."""
    try:
        sender = str(EmailMessage(from_email=settings.DEFAULT_FROM_EMAIL, to=["x@example.com"]).message()["From"])
    except ValueError:
        sender = ""
    if _EMAIL_ADDRESS.fullmatch(parseaddr(sender)[1]):
        return []
    text = f"DEFAULT_FROM_EMAIL: {settings.DEFAULT_FROM_EMAIL!r} is not a name and an email address."
    hint = 'Write "Name" <no-reply@example.com>, with the quotation marks if the name has special characters.'
    return [Error(text, hint=hint, id="devportal.E020")]


@register(Tags.security)
def check_support_email(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E024`: a contact to which nobody can write, on all pages and in all emails."""
    try:
        if settings.SUPPORT_EMAIL:
            stored_address(settings.SUPPORT_EMAIL)
    except ValidationError:
        text = f"SUPPORT_EMAIL: {settings.SUPPORT_EMAIL!r} is not an email address."
        hint = "Write only the address, like help@example.com. A page goes into HELP_URL."
        return [Error(text, hint=hint, id="devportal.E024")]
    return []


@register(Tags.security)
def check_other_services(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E022`: URLs and a credential that can't be requested, or that pages can't link to."""
    found: list[CheckMessage] = []
    for name in URLS:
        url = getattr(settings, name)
        if url and not (web_url_parts(url) and url.isprintable() and " " not in url):
            hint = "Write the whole URL, like https://example.com or http://127.0.0.1:4318."
            found.append(Error(f"{name} is not an http(s) URL.", hint=hint, id="devportal.E022"))
    if settings.SOURCE_TOKEN and not _TOKEN.fullmatch(settings.SOURCE_TOKEN):
        text = "SOURCE_TOKEN may only have printable ASCII characters without spaces."
        found.append(Error(text, hint="Choose another one, and give it to the source too.", id="devportal.E022"))
    return found


@register(Tags.security)
def check_data_dir(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.W003`: uploads would fail. In the embedded environment this is E010 (core/environment.py)."""
    # The name is compared: the class can't be imported without its packages, which E040 reports.
    if settings.EMBEDDED or settings.STORAGES["default"]["BACKEND"] == object_store.BACKEND:
        return []
    if is_writable(settings.DATA_DIR) or _can_be_made(settings.DATA_DIR):
        return []
    text = f"DATA_DIR ({settings.DATA_DIR}) is not writable, so pictures can't be uploaded."
    return [checks.Warning(text, hint="Set DATA_DIR, or make it writable for the service.", id="devportal.W003")]


def _can_be_made(folder: Any) -> bool:
    above = next(parent for parent in folder.parents if os.access(parent, os.F_OK))
    return not os.access(folder, os.F_OK) and is_writable(above)


@register(Tags.security)
def check_admin_second_factor(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.W004`: a password alone opens the admin."""
    if settings.EMBEDDED or settings.ADMIN_SECOND_FACTOR:
        return []
    text = "ADMIN_SECOND_FACTOR is off: a password alone opens the admin."
    hint = "Turn it on. Staff without two-step verification are asked to set it up."
    return [checks.Warning(text, hint=hint, id="devportal.W004")]


log = logging.getLogger(__name__)


def find_dangers() -> str:
    """Run the checks of the settings and log the warnings; return the errors that must stop the start as a text."""
    messages = [message for message in run_checks(tags=[Tags.security]) if not message.is_silenced()]
    serious = [message for message in messages if message.is_serious()]
    _log([message for message in messages if message not in serious])
    return "\n".join(["The settings are dangerous:", *map(str, serious)]) if serious else ""


def log_stored_dangers() -> None:
    """Log conflicts between the settings and what is stored in the database and in Redis. They never stop a start."""
    try:
        _log(run_checks(tags=[Tags.database], databases=["default"]))
    except DatabaseError:
        log.warning("The database does not respond, so its contents are not checked.")


def _log(messages: list[CheckMessage]) -> None:
    for message in messages:
        log.log(message.level, "%s", message)
