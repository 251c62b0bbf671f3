"""Names of browsers and places: from a User-Agent header, and from an IP address with an offline database."""

import logging
from functools import cache
from typing import Any

import maxminddb
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Tags, register
from django.http import HttpRequest

# The order matters: most browsers also claim to be other browsers.
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
# Each one has all of its texts in the User-Agent.
_SYSTEMS = (
    (("iPhone",), "an iPhone"),
    (("iPad",), "an iPad"),
    (("Android", "Mobile"), "an Android phone"),
    (("Android",), "an Android tablet"),
    (("Windows",), "Windows"),
    (("Mac OS X",), "a Mac"),
    (("CrOS",), "a Chromebook"),
    (("Linux",), "Linux"),
)
LONGEST_BROWSER = 40
UNNAMED, NO_AGENT = "an unknown browser", "Unknown browser"


def user_agent(request: HttpRequest) -> str:
    """Return the User-Agent header without characters that can't be shown or stored; anyone can send any text."""
    return "".join(letter for letter in request.META.get("HTTP_USER_AGENT", "") if letter.isprintable())


def browser_name(agent: str) -> str:
    """Return the names of browser and system in a User-Agent; its first characters if it contains no known name."""
    browser = next((name for sign, name in _BROWSERS if sign in agent), agent[:LONGEST_BROWSER].strip() or NO_AGENT)
    system = next((name for signs, name in _SYSTEMS if all(sign in agent for sign in signs)), "")
    return f"{browser} on {system}" if system else browser


def known_browser_name(agent: str) -> str:
    """Return the names of browser and system in a User-Agent, never its own text: for mails to others."""
    named, begins = browser_name(agent), agent[:LONGEST_BROWSER].strip()
    return UNNAMED if not begins or named.startswith(begins) else named


# The database is a file of cities or countries in MaxMind's format (MMDB), which the operator provides and updates.
# Without it, or if it does not contain an IP address, no place is shown; no request is sent over the network.

log = logging.getLogger(__name__)

LANGUAGE = "en"
LONGEST = 100
_UNREADABLE = (OSError, ValueError, maxminddb.InvalidDatabaseError)


@cache
def _reader(path: str) -> Any:
    """Return the open database, opened once per process; None if it can't be read."""
    try:
        return maxminddb.open_database(path)
    except _UNREADABLE as error:
        log.warning("GEOIP_DATABASE can't be read, so no places are shown: %s", error)
        return None


def place_of(ip: str) -> str:
    """Return a place such as "Graz, Austria", "" if it is not known."""
    reader = _reader(settings.GEOIP_DATABASE) if settings.GEOIP_DATABASE and ip else None
    if reader is None:
        return ""
    try:
        found = reader.get(ip)
    except _UNREADABLE:  # an invalid IP address, an IP version that is not in the database, or a broken entry
        return ""
    return ", ".join(filter(None, (_name(found, "city"), _name(found, "country"))))[:LONGEST]


def _name(found: Any, part: str) -> str:
    entry = found.get(part) if isinstance(found, dict) else None
    names = entry.get("names") if isinstance(entry, dict) else None
    name = names.get(LANGUAGE) if isinstance(names, dict) else None
    return name if isinstance(name, str) else ""


@register(Tags.security, Tags.compatibility)
def check_database(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.W005` if the database of places can't be read."""
    if not settings.GEOIP_DATABASE:
        return []
    try:
        maxminddb.open_database(settings.GEOIP_DATABASE).close()
    except _UNREADABLE as error:
        text = f"GEOIP_DATABASE can't be read: {error}."
        return [checks.Warning(text, hint="Set it to an .mmdb file of cities or countries.", id="devportal.W005")]
    return []
