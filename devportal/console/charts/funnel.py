"""Funnels as SVG, drawn on the server: a row for each stage, with its count as the width, and the losses before it.

Like the bars (bars.py) each is drawn for three widths, and the page has a table with all values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from django.utils.safestring import SafeString

from devportal.console.charts.bars import SIZES, Size, add_pattern
from devportal.console.charts.svg import element, format_number, markup

_ROW, _TEXT, _BAR = 50, 16, 18  # heights
_ROOM = 2  # around the drawing, so that no edge is cut off


@dataclass(frozen=True)
class FunnelRow:
    """One stage: its name, its count, and its share of the first stage as text."""

    name: str
    value: int
    share: str


@dataclass(frozen=True)
class FunnelChart:
    """The stages of a funnel, widest first. `key` is part of the ids in the page."""

    key: str
    title: str
    rows: Sequence[FunnelRow]

    @property
    def is_empty(self) -> bool:
        return not any(row.value for row in self.rows)

    @property
    def summary(self) -> str:
        """The text alternative. The table has the details."""
        return ". ".join(f"{row.name} {row.value:,}, {row.share}" for row in self.rows) + "."

    @property
    def drawings(self) -> list[tuple[str, SafeString]]:
        """The drawing for each width, by the name of the width."""
        return [(size.name, _draw(self, size)) for size in SIZES]


def _draw(chart: FunnelChart, size: Size) -> SafeString:
    key, height = f"{chart.key}-{size.name}", len(chart.rows) * _ROW
    svg = element(
        None,
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {size.width} {height}",
        class_=f"chart__drawing chart__drawing--{size.name}",
        role="img",
        aria_labelledby=f"{key}-title {key}-text",
        focusable="false",
    )
    element(svg, "title", chart.title, id=f"{key}-title")
    element(svg, "desc", chart.summary, id=f"{key}-text")
    definitions = element(svg, "defs")
    for kind in ("good", "limited"):
        add_pattern(definitions, f"{key}-{kind}", kind)
    widest = max((row.value for row in chart.rows), default=0) or 1
    room = size.width - 2 * _ROOM
    widths = [room * row.value / widest for row in chart.rows]
    for place, row in enumerate(chart.rows):
        top = place * _ROW
        element(svg, "text", row.name, class_="chart__label funnel__name", x=_ROOM, y=top + _TEXT - 3)
        words = f"{row.value:,} · {row.share}"
        element(svg, "text", words, class_="chart__label", x=size.width - _ROOM, y=top + _TEXT - 3, text_anchor="end")
        element(svg, "rect", class_="funnel__track", x=_ROOM, y=top + _TEXT + 4, width=room, height=_BAR)
        _bar(svg, f"{key}-good", "good", (_ROOM, top), widths[place])
        if place and widths[place - 1] > widths[place]:
            lost = (_ROOM + widths[place], top)
            _bar(svg, f"{key}-limited", "limited", lost, widths[place - 1] - widths[place])
    return markup(svg)


def _bar(svg: Element, pattern: str, kind: str, at: tuple[float, float], width: float) -> None:
    left, top = at
    if width > 0:
        look = {"class_": f"chart__band chart__band--{kind}", "fill": f"url(#{pattern})"}
        box = {"x": format_number(left), "y": format_number(top + _TEXT + 4), "width": format_number(width)}
        element(svg, "rect", height=_BAR, **box, **look)
