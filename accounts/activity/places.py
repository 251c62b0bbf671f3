"""Names of browsers and places: from a User-Agent header, and from an IP address with an offline database."""

import logging
from functools import cache
from typing import Any

import maxminddb
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Tags, register
from django.http import HttpRequest

# In this order: most browsers claim to be others too.
_BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "a Mac"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)
LONGEST_BROWSER = 40
UNNAMED = "a browser that does not say its name"


def user_agent(request: HttpRequest) -> str:
    """Return the User-Agent header without what can't be shown or stored; anybody can send anything."""
    return "".join(letter for letter in request.META.get("HTTP_USER_AGENT", "") if letter.isprintable())


def browser_name(agent: str) -> str:
    """Return the browser and system that a User-Agent names, in words; its own beginning if it names none."""
    browser = next(
        (name for sign, name in _BROWSERS if sign in agent), agent[:LONGEST_BROWSER].strip() or "Unknown browser"
    )
    system = next((name for sign, name in _SYSTEMS if sign in agent), "")
    return f"{browser} on {system}" if system else browser


def known_browser_name(agent: str) -> str:
    """Return the browser and system that a User-Agent names, and nothing of its own words: for mails to others."""
    named, begins = browser_name(agent), agent[:LONGEST_BROWSER].strip()
    return UNNAMED if not begins or named.startswith(begins) else named


# The database is a file in MaxMind's format (MMDB) of cities or countries, which the operator gets and renews.
# Without one, or where it does not know an address, there is no place; nobody is asked over the network.

log = logging.getLogger(__name__)

LANGUAGE = "en"
LONGEST = 100
_UNREADABLE = (OSError, ValueError, maxminddb.InvalidDatabaseError)


@cache
def _reader(path: str) -> Any:
    """Return the open database, once a process; None if it can't be read."""
    try:
        return maxminddb.open_database(path)
    except _UNREADABLE as error:
        log.warning("GEOIP_DATABASE can't be read, so that no place is shown: %s", error)
        return None


def place_of(ip: str) -> str:
    """Return a place such as "Graz, Austria", "" if it is not known."""
    reader = _reader(settings.GEOIP_DATABASE) if settings.GEOIP_DATABASE and ip else None
    if reader is None:
        return ""
    try:
        found = reader.get(ip)
    except _UNREADABLE:  # no address, one of a version that the database has not, or a broken entry
        return ""
    return ", ".join(filter(None, (_name(found, "city"), _name(found, "country"))))[:LONGEST]


def _name(found: Any, part: str) -> str:
    entry = found.get(part) if isinstance(found, dict) else None
    names = entry.get("names") if isinstance(entry, dict) else None
    name = names.get(LANGUAGE) if isinstance(names, dict) else None
    return name if isinstance(name, str) else ""


@register(Tags.compatibility)
def check_database(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`devportal.W005`: the database of places can't be read."""
    if not settings.GEOIP_DATABASE:
        return []
    try:
        maxminddb.open_database(settings.GEOIP_DATABASE).close()
    except _UNREADABLE as error:
        text = f"GEOIP_DATABASE can't be read: {error}."
        return [checks.Warning(text, hint="Name an .mmdb file of cities or countries.", id="devportal.W005")]
    return []
