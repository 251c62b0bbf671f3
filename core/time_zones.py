"""The time zone of a reader, and times in it.

`static/js/time.js` stores the browser's zone in a cookie. The service only accepts names of the IANA database. At
sign-in the zone is stored with the account, for mails and for browsers without the cookie.
"""

import functools
import zoneinfo
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpRequest

from core import clock

NAME = "openport_zone"
LONGEST_ZONE = 64
# Days from today in words, for times that stand alone.
_NEAR = {-1: "Yesterday", 0: "Today", 1: "Tomorrow"}


def cookie_name() -> str:
    """Return the cookie's name, which `static/js/time.js` uses too."""
    return f"__Host-{NAME}" if settings.SESSION_COOKIE_SECURE else NAME


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def find_zone(name: str) -> ZoneInfo | None:
    """Return the zone with this name in the IANA database, None if there is none."""
    return ZoneInfo(name) if name in _names() and len(name) <= LONGEST_ZONE else None


def zone_of_browser(request: HttpRequest) -> ZoneInfo | None:
    """Return the zone that the browser's cookie names."""
    return find_zone(request.COOKIES.get(cookie_name(), ""))


def zone_of_reader(request: HttpRequest | None) -> ZoneInfo | None:
    """Return the zone of the browser, or else of the signed-in person; None if it is not known."""
    if request is None:
        return None
    return zone_of_browser(request) or find_zone(getattr(getattr(request, "user", None), "time_zone", ""))


def in_utc(at: datetime, *, seconds: bool = False) -> str:
    """Return a time such as "17 May 2030, 09:41 UTC"."""
    return f"{_day(at.astimezone(UTC))}, {_clock_time(at.astimezone(UTC), seconds)} UTC"


def in_zone(at: datetime, zone: ZoneInfo, *, in_sentence: bool, seconds: bool = False) -> str:
    """Return a time such as "Today, 11:41"; in a sentence always with its date, such as "17 May 2030, 11:41"."""
    local, today = at.astimezone(zone), clock.now().astimezone(zone).date()
    near = None if in_sentence else _NEAR.get((local.date() - today).days)
    return f"{near or _day(local)}, {_clock_time(local, seconds)}"


def in_mail(at: datetime, zone: ZoneInfo | None) -> str:
    """Return a time with its date and the name of its zone, such as "17 May 2030, 11:41 CEST"."""
    if zone is None:
        return in_utc(at)
    local = at.astimezone(zone)
    name = local.tzname() or ""
    if not name.isalpha():  # zones without an abbreviation have their difference from UTC instead, such as "+0545"
        name = f"UTC{name[:3]}:{name[3:] or '00'}"
    return f"{_day(local)}, {local:%H:%M} {name}"


def _clock_time(moment: datetime, seconds: bool) -> str:
    return f"{moment:%H:%M:%S}" if seconds else f"{moment:%H:%M}"


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%b %Y}"
