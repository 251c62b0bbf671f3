"""How the judges' sentences put times, numbers and lists."""

from collections.abc import Iterable
from datetime import datetime

_MOST = 5


def day(moment: datetime | None) -> str:
    """Return a date as "5 March 2026", in UTC; "an unknown day" for None."""
    return f"{moment.day} {moment:%B %Y}" if moment else "an unknown day"


def minute(moment: datetime | None) -> str:
    """Return a time as "5 March 2026, 14:05 UTC"; "an unknown time" for None."""
    return f"{day(moment)}, {moment:%H:%M} UTC" if moment else "an unknown time"


def many(count: int, word: str, plural: str = "") -> str:
    """Return a number with its noun: "1 app", "2 apps"; `plural` for a word that takes no s."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {plural or f'{word}s'}"


def listed(names: Iterable[str]) -> str:
    """Return names as a list for a sentence, of five at most: "a, b and 3 more"."""
    known = list(names)
    shown, more = known[:_MOST], len(known) - _MOST
    return f"{', '.join(shown)} and {more} more" if more > 0 else ", ".join(shown)
