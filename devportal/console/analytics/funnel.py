"""The chart of a funnel, drawn on the server as SVG. The page has a table with all values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from django.utils.safestring import SafeString

from devportal.console.charts import SIZES, Size, add_pattern, element, format_number, link_to_log, markup

_ROW, _TEXT, _BAR = 50, 16, 18  # heights
_ROOM = 2  # around the drawing, so that no edge is cut off


@dataclass(frozen=True)
class FunnelRow:
    """One stage: its name, its count, its share of the first stage as text, and the URL of its log entries, or ""."""

    name: str
    value: int
    share: str
    url: str = ""


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
        return [(size.name, _draw_funnel(self, size)) for size in SIZES]


def _draw_funnel(chart: FunnelChart, size: Size) -> SafeString:
    key, height = f"{chart.key}-{size.name}", len(chart.rows) * _ROW
    svg = element(
        None,
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {size.width} {height}",
        class_=f"chart__drawing chart__drawing--{size.name}",
        role="group" if any(row.url for row in chart.rows) else "img",  # as for bars over time
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
    picture = element(svg, "g", aria_hidden="true") if svg.get("role") == "group" else svg
    for place, row in enumerate(chart.rows):
        top = place * _ROW
        element(picture, "text", row.name, class_="chart__label funnel__name", x=_ROOM, y=top + _TEXT - 3)
        words, right = f"{row.value:,} · {row.share}", size.width - _ROOM
        element(picture, "text", words, class_="chart__label", x=right, y=top + _TEXT - 3, text_anchor="end")
        element(picture, "rect", class_="funnel__track", x=_ROOM, y=top + _TEXT + 4, width=room, height=_BAR)
        _bar(picture, f"{key}-good", "good", (_ROOM, top), widths[place])
        if place and widths[place - 1] > widths[place]:
            lost = (_ROOM + widths[place], top)
            _bar(picture, f"{key}-limited", "limited", lost, widths[place - 1] - widths[place])
        if row.url:
            box: dict[str, Any] = {"x": _ROOM, "y": top + _TEXT + 4, "width": format_number(widths[place])}
            link = link_to_log(svg, row.url, f"{row.name}: {row.value:,}")
            element(link, "rect", class_="chart__column", height=_BAR, **box)
    return markup(svg)


def _bar(svg: Element, pattern: str, kind: str, at: tuple[float, float], width: float) -> None:
    left, top = at
    if width > 0:
        look = {"class_": f"chart__band chart__band--{kind}", "fill": f"url(#{pattern})"}
        box = {"x": format_number(left), "y": format_number(top + _TEXT + 4), "width": format_number(width)}
        element(svg, "rect", height=_BAR, **box, **look)
