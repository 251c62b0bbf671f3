"""Draw the ratios of a run as horizontal bars: a standalone SVG that is readable in both colour schemes."""

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from benchmarks.aims import AIMS, BEFORE, GROWN, GROWN_AIM, NODE, STOCK, Aim
from benchmarks.figures import Comparison

TITLES = {
    BEFORE: "against the commit before",
    STOCK: "against stock django-oauth-toolkit",
    NODE: "against node-oidc-provider",
    GROWN: "grown, against itself with few tokens",
}
WIDTH, LABEL, VALUE, LINE, BAR = 720, 120, 150, 22, 14
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.bar { fill: #2f6fb3 }
.missed { fill: #b3542f }
.aim, .level { stroke: #1f2328; stroke-width: 2 }
.level { stroke-width: 1; stroke-dasharray: 2 3; opacity: .6 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .bar { fill: #6ea8e5 }
  .missed { fill: #e08a63 }
  .aim, .level { stroke: #e6edf3 }
}
"""


def draw(compared: Sequence[Comparison], caption: str) -> str:
    """Return the chart: a panel for each other contender, a bar for each operation, and a mark at its aim."""
    svg = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"})
    _add(svg, "title", "Requests a second, in times the rate of each other contender")
    _add(svg, "desc", "; ".join(f"{one.operation} {TITLES[one.other]}: {one.by_rate:.2f}" for one in _shown(compared)))
    _add(svg, "style", STYLE)
    top = 24
    for other, title in TITLES.items():
        panel = [one for one in compared if one.other == other]
        if panel:
            _add(svg, "text", title, x=0, y=top, class_="title")
            top = _panel(svg, panel, top + 10) + 26
    for line in ("Bars: times the rate, brown where the aim, a solid mark, is missed. Dotted line: level.", caption):
        _add(svg, "text", line, x=0, y=top)
        top += 18
    height = top
    svg.set("viewBox", f"0 0 {WIDTH} {height}")
    svg.set("width", str(WIDTH))
    svg.set("height", str(height))
    return tostring(svg, encoding="unicode") + "\n"


def _shown(compared: Sequence[Comparison]) -> list[Comparison]:
    return [one for one in compared if one.other in TITLES]


def _aim(one: Comparison) -> Aim | None:
    return GROWN_AIM if one.other == GROWN else AIMS.get((one.operation, one.other))


def _panel(svg: Element, panel: Sequence[Comparison], top: int) -> int:
    """Draw the bars of one contender, each panel on a separate scale; return where it ends."""
    known = [aim for one in panel if (aim := _aim(one)) is not None]
    widest = max(1.0, *(one.by_rate for one in panel), *(aim.least for aim in known))
    unit = (WIDTH - LABEL - VALUE) / widest
    for place, one in enumerate(panel):
        high = top + place * LINE
        aim = _aim(one)
        look = "missed" if aim is not None and one.by_rate < aim.least else "bar"
        _add(svg, "text", one.operation, x=LABEL - 8, y=high + BAR - 2, text_anchor="end")
        _add(svg, "rect", x=LABEL, y=high, width=_number(unit * one.by_rate), height=BAR, class_=look)
        beside = LABEL + unit * max(one.by_rate, aim.least if aim else 0)
        said = f"{one.by_rate:.2f}" + (f" (aim {aim.least})" if aim else "")
        _add(svg, "text", said, x=_number(beside + 8), y=high + BAR - 2)
        if aim:
            x = _number(LABEL + unit * aim.least)
            _add(svg, "line", x1=x, x2=x, y1=high - 3, y2=high + BAR + 3, class_="aim")
    end = top + len(panel) * LINE
    level = _number(LABEL + unit)
    _add(svg, "line", x1=level, x2=level, y1=top - 4, y2=end, class_="level")
    return end


def _add(parent: Element, tag: str, text: str = "", **attributes: Any) -> None:
    """Append an element. In attribute names, `class_` stands for "class", and underscores for hyphens."""
    named = {name.rstrip("_").replace("_", "-"): str(value) for name, value in attributes.items()}
    SubElement(parent, tag, named).text = text or None


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
