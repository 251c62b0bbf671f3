"""A plain name for a User-Agent header."""

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
LONGEST = 40
UNNAMED = "a browser that does not say its name"


def user_agent(request: HttpRequest) -> str:
    """Return the User-Agent header without what can't be shown or stored; anybody can send anything."""
    return "".join(letter for letter in request.META.get("HTTP_USER_AGENT", "") if letter.isprintable())


def browser_name(agent: str) -> str:
    """Return the browser and system that a User-Agent names, in words; its own beginning if it names none."""
    browser = next((name for sign, name in _BROWSERS if sign in agent), agent[:LONGEST].strip() or "Unknown browser")
    system = next((name for sign, name in _SYSTEMS if sign in agent), "")
    return f"{browser} on {system}" if system else browser


def known_browser_name(agent: str) -> str:
    """Return the browser and system that a User-Agent names, and nothing of its own words: for mails to others."""
    named, begins = browser_name(agent), agent[:LONGEST].strip()
    return UNNAMED if not begins or named.startswith(begins) else named
