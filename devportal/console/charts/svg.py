"""Elements of SVG, and the ticks of a chart's axes."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from django.utils.safestring import SafeString

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Possible distances of time ticks: minutes, hours and days.
_DISTANCES = (
    *(timedelta(minutes=count) for count in (1, 2, 5, 10, 15, 20, 30)),
    *(timedelta(hours=count) for count in (1, 2, 3, 4, 6, 12)),
    *(timedelta(days=count) for count in (1, 2, 5, 7, 10, 14, 30, 90, 365)),
)


def nice_scale(peak: int) -> tuple[int, int]:
    """Return the maximum of an axis for `peak` and the distance of its ticks: 1, 2 or 5 times a power of ten."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power * 4 >= peak:
                distance = factor * power
                return max(-(-peak // distance), 1) * distance, distance
        power *= 10


def short_number(number: int) -> str:
    """Format a number briefly, for an axis: 950, 2,000, 15k, 1.5M."""
    for size, letter, least in ((10**9, "G", 10**9), (10**6, "M", 10**6), (1000, "k", 10_000)):
        if number >= least:
            return f"{round(number / size, 1):,g}{letter}"
    return f"{number:,}"


def time_ticks(starts: Sequence[datetime], step: timedelta, most: int) -> tuple[timedelta, list[int]]:
    """Return the distance of time ticks, and the indexes of the bars that have one, at most about `most`.

    Ticks are at full hours and midnights. Distances of several days count from the first day.
    """
    whole = step * len(starts)
    fitting = (distance for distance in _DISTANCES if not distance % step and whole / distance <= most)
    distance = next(fitting, whole)
    since = _EPOCH if distance <= timedelta(days=1) else starts[0]
    return distance, [place for place, start in enumerate(starts) if not (start - since) % distance]


def element(parent: Element | None, tag: str, text: str = "", **attributes: Any) -> Element:
    """Return a new element. `class_` stands for class, and underscores for hyphens."""
    named = {_attribute(name): str(value) for name, value in attributes.items()}
    made = Element(tag, named) if parent is None else SubElement(parent, tag, named)
    made.text = text or None
    return made


def _attribute(name: str) -> str:
    # SVG has camel-case names such as viewBox, and names with a hyphen such as text-anchor.
    return name.rstrip("_").replace("_", "-")


def format_number(value: float) -> str:
    """Format a coordinate with as many digits as are visible."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def markup(svg: Element) -> SafeString:
    """Return an element as HTML. The serializer escapes its texts."""
    return SafeString(tostring(svg, encoding="unicode"))
