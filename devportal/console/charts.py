"""Charts drawn on the server, as SVG with a table beside it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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


def format_change(values: Sequence[int], before: Sequence[int]) -> str:
    """Return the change of a sum in percent, or "". Both leave out the last value, which is not complete yet."""
    now, then = sum(values[:-1]), sum(before[: len(values) - 1])
    return f"{round(100 * (now - then) / then):+,} %" if then else ""


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


# Each chart is drawn for three widths. The stylesheet shows the one that fits, so that the text keeps its size.
# Colors are classes (static/css/components/charts.css): one accent color, and red for errors. Every kind but the first
# also has a pattern, for people who ask for more contrast. Templates include console/partials/chart.html.

# Kinds of bands. Each has a color in the stylesheet.
KINDS = ("good", "second", "limited", "client-error", "server-error")


@dataclass(frozen=True)
class Series:
    """One layer of the stacked bars: label, style (one of KINDS), and its value in each bar."""

    name: str
    kind: str
    values: Sequence[int]


@dataclass(frozen=True)
class LimitLine:
    """A value to compare the bars with, drawn as a line across them."""

    name: str
    value: int


# Returns the URL of the log entries from one time to before another, of one layer or of all (None), or "".
BarLink = Callable[[datetime, datetime, Series | None], str]


@dataclass(frozen=True)
class Cell:
    """A value of the table, and the URL of the log entries that it counts, or "", with the link's accessible name."""

    value: int
    url: str = ""
    label: str = ""


@dataclass(frozen=True)
class Bar:
    """One bar as a row of the table. `values` are in the order of the bands, and `cells` also have their total."""

    start: datetime
    values: Sequence[int]
    cells: Sequence[Cell] = ()
    before: int | None = None  # the total at the same place of the period before

    @property
    def total(self) -> int:
        return sum(self.values)


@dataclass(frozen=True)
class BarChart:
    """Bars over time, in layers, the first at the bottom. `key` is part of the ids in the page.

    Days are in UTC. Labels of shorter times are in UTC too, until `static/js/time.js` replaces them.

    `step` is the time from one start to the next. With `link`, bars and values lead to the entries that they count.
    `before` holds the totals of the bars of the period before, if they are known. The last bar has not ended yet.
    """

    key: str
    title: str
    starts: Sequence[datetime]
    step: timedelta
    bands: Sequence[Series]
    limit: LimitLine | None = None
    link: BarLink | None = None
    before: Sequence[int] = ()

    @property
    def bars(self) -> list[Bar]:
        return [
            Bar(
                start,
                [band.values[place] for band in self.bands],
                self._cells(place),
                self.before[place] if self.before else None,
            )
            for place, start in enumerate(self.starts)
        ]

    @property
    def total(self) -> int:
        return sum(sum(band.values) for band in self.bands)

    @property
    def change(self) -> str:
        """The change from the period before, such as "+12 %". "" if there is nothing to compare with."""
        return format_change([bar.total for bar in self.bars], self.before)

    @property
    def compares(self) -> bool:
        """Whether anything was counted in the period before."""
        return any(self.before)

    def _cells(self, place: int) -> list[Cell]:
        cells = [self._cell(place, band, band.values[place]) for band in self.bands]
        return [*cells, self._cell(place, None, sum(cell.value for cell in cells))] if len(cells) > 1 else cells

    def _cell(self, place: int, band: Series | None, value: int) -> Cell:
        url = self.url(place, band) if value else ""
        label = f"{value:,} {band.name if band else 'in total'}, {self.label(place)}: entries of the log" if url else ""
        return Cell(value, url, label)

    def url(self, place: int, band: Series | None = None) -> str:
        """Return the URL of the log entries that a bar counts, or one of its layers; "" if there are none."""
        start = self.starts[place]
        return self.link(start, start + self.step, band) if self.link else ""

    @property
    def peak(self) -> int:
        """The highest bar."""
        return max((bar.total for bar in self.bars), default=0)

    @property
    def is_empty(self) -> bool:
        return self.peak == 0

    @property
    def table_shows_days(self) -> bool:
        """Whether a day is enough to name a bar."""
        return self.step >= timedelta(days=1)

    @property
    def legend(self) -> list[tuple[Series, SafeString]]:
        """The bands from top to bottom, each with a sample of its pattern."""
        return [(band, _sample(self.key, band)) for band in reversed(self.bands)]

    @property
    def drawings(self) -> list[tuple[str, SafeString]]:
        """The drawing for each width, by the name of the width."""
        return [(size.name, _draw(self, size)) for size in SIZES]

    @property
    def small_drawing(self) -> SafeString:
        """The drawing without axes, for a card."""
        return _draw(self, SMALL)

    @property
    def summary(self) -> str:
        """The text alternative of the chart. The table has the details."""
        totals = [f"{band.name} {sum(band.values):,}" for band in self.bands]
        text = f"{len(self.starts)} bars from {self.label(0)} to {self.label(-1)}. In all: {', '.join(totals)}."
        text += f" The highest bar is {self.peak:,}."
        return text + (f" A line marks {self.limit.name}." if self.limit else "")

    def label(self, place: int) -> str:
        """Return the name of the bar at a place."""
        start = self.starts[place].astimezone(UTC)
        return f"{start:%-d %b %Y}" if self.table_shows_days else f"{start:%-d %b %Y, %H:%M} UTC"


@dataclass(frozen=True)
class Size:
    """The size of a drawing in units of its view box. `ticks` is the maximum number of time ticks; 0 means no axes."""

    name: str
    width: int
    height: int
    ticks: int


SMALL = Size("small", 360, 72, 0)
SIZES = (Size("narrow", 300, 200, 4), Size("middle", 640, 250, 6), Size("wide", 960, 280, 9))
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 14, 26


# --- Drawing ---


@dataclass(frozen=True)
class _Frame:
    """The coordinates of one drawing."""

    size: Size
    count: int
    top: int

    @property
    def ceiling(self) -> int:
        return _TOP if self.size.ticks else 0

    @property
    def floor(self) -> int:
        return self.size.height - (_BOTTOM if self.size.ticks else 0)

    @property
    def start(self) -> int:
        return _LEFT if self.size.ticks else 0

    @property
    def end(self) -> int:
        return self.size.width - (_RIGHT if self.size.ticks else 0)

    @property
    def column(self) -> float:
        return (self.end - self.start) / self.count

    def left_of(self, place: int) -> float:
        return self.start + place * self.column

    def height_of(self, value: float) -> float:
        return (self.floor - self.ceiling) * value / self.top


def _draw(chart: BarChart, size: Size) -> SafeString:
    top, distance = nice_scale(max(chart.peak, chart.limit.value if chart.limit else 0))
    frame = _Frame(size, max(len(chart.starts), 1), top)
    key = f"{chart.key}-{size.name}"
    svg = element(
        None,
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {size.width} {size.height}",
        class_=f"chart__drawing chart__drawing--{size.name}",
        preserveAspectRatio="xMidYMid" if size.ticks else "none",
        # Links inside an image would have no names (WAI-ARIA: children of `img` are presentational).
        role="group" if chart.link else "img",
        aria_labelledby=f"{key}-title {key}-text",
        focusable="false",
    )
    element(svg, "title", chart.title, id=f"{key}-title")
    element(svg, "desc", chart.summary, id=f"{key}-text")
    definitions = element(svg, "defs")
    for band in chart.bands:
        add_pattern(definitions, f"{key}-{band.kind}", band.kind)
    picture = element(svg, "g", aria_hidden="true") if chart.link else svg
    if size.ticks:
        _value_axis(picture, frame, distance)
        _time_axis(picture, frame, chart)
    for band, path in zip(chart.bands, _layers(chart, frame), strict=True):
        fill = f"url(#{key}-{band.kind})"
        element(picture, "path", d=path, class_=f"chart__band chart__band--{band.kind}", fill=fill)
    if chart.limit:
        _limit_line(picture, frame, chart.limit)
    _hover(svg, frame, chart)
    return markup(svg)


def _value_axis(svg: Element, frame: _Frame, distance: int) -> None:
    for value in range(0, frame.top + 1, distance):
        height = format_number(frame.floor - frame.height_of(value))
        element(svg, "line", class_="chart__grid", x1=_LEFT, x2=frame.end, y1=height, y2=height)
        place = {"x": _LEFT - 6, "y": height, "dy": "0.32em", "text_anchor": "end"}
        element(svg, "text", short_number(value), class_="chart__label", **place)


def _time_axis(svg: Element, frame: _Frame, chart: BarChart) -> None:
    distance, places = time_ticks(chart.starts, chart.step, frame.size.ticks)
    shows_days = distance >= timedelta(days=1)
    for place in places:
        middle = frame.left_of(place) + frame.column / 2
        x = format_number(middle)
        element(svg, "line", class_="chart__tick", x1=x, x2=x, y1=frame.floor, y2=frame.floor + 4)
        # A label must not extend beyond the drawing.
        look = {"class_": "chart__label", "text_anchor": "end" if middle > frame.end - 14 else "middle"}
        start = chart.starts[place].astimezone(UTC)
        if not shows_days:
            look["data_time"] = f"{start:%Y-%m-%dT%H:%M:%SZ}"
        text = f"{start:%-d %b}" if shows_days else f"{start:%H:%M}"
        element(svg, "text", text, x=x, y=frame.floor + 17, **look)


def _layers(chart: BarChart, frame: _Frame) -> Iterator[str]:
    """Yield the path of each band: all its bars in one element, on top of the bands below."""
    gap = min(frame.column * 0.2, 3)
    below = [0] * len(chart.starts)
    for band in chart.bands:
        parts = []
        for place, value in enumerate(band.values):
            if value:
                left, low = frame.left_of(place) + gap / 2, frame.floor - frame.height_of(below[place])
                parts.append(
                    f"M{format_number(left)} {format_number(low)}v{format_number(-frame.height_of(value))}"
                    f"h{format_number(frame.column - gap)}v{format_number(frame.height_of(value))}z"
                )
                below[place] += value
        yield "".join(parts)


def _limit_line(svg: Element, frame: _Frame, limit: LimitLine) -> None:
    height = frame.floor - frame.height_of(limit.value)
    element(
        svg, "line", class_="chart__limit", x1=_LEFT, x2=frame.end, y1=format_number(height), y2=format_number(height)
    )
    place = {
        "x": frame.end,
        "y": format_number(height - 5 if height > _TOP + 12 else height + 14),
        "text_anchor": "end",
    }
    element(svg, "text", limit.name, class_="chart__label chart__label--limit", **place)


def _hover(svg: Element, frame: _Frame, chart: BarChart) -> None:
    """Add a tooltip to each bar, and a link to its log entries.

    The links are no tab stops, because there may be ninety of them. The table has the same values and links.
    """
    for place, bar in enumerate(chart.bars):
        if not bar.total:
            continue
        area: dict[str, Any] = {
            "x": format_number(frame.left_of(place)),
            "y": frame.ceiling,
            "width": format_number(frame.column),
            "data_bar": place,
        }
        values = [f"{band.name} {value:,}" for band, value in zip(chart.bands, bar.values, strict=True) if value]
        text = f"{chart.label(place)}: {', '.join(values)}"
        parent = svg
        if url := chart.url(place):
            parent = link_to_log(svg, url, text)
        column = element(parent, "rect", class_="chart__column", height=frame.floor - frame.ceiling, **area)
        element(column, "title", text)


def link_to_log(svg: Element, url: str, text: str) -> Element:
    """Return a link to log entries that is no tab stop. `text` begins its accessible name."""
    return element(svg, "a", href=url, tabindex=-1, aria_label=f"{text}. Entries of the log", class_="chart__link")


def add_pattern(parent: Element, key: str, kind: str) -> None:
    """Add the fill pattern of a kind, colored by its CSS classes."""
    pattern = element(parent, "pattern", id=key, width=8, height=8, patternUnits="userSpaceOnUse")
    element(pattern, "rect", width=8, height=8, class_=f"chart__ground chart__ground--{kind}")
    marks = {
        "second": "M4 0V8",
        "client-error": "M-2 10L10 -2M-2 2L2 -2M6 10L10 6",
        "limited": "M0 2H8M0 6H8",
        "server-error": "M-2 10L10 -2M-2 -2L10 10",
    }
    if kind in marks:
        element(pattern, "path", d=marks[kind], class_=f"chart__marks chart__marks--{kind}")


def _sample(key: str, band: Series) -> SafeString:
    """Return a small square with a band's pattern, for the legend."""
    svg = element(
        None, "svg", xmlns="http://www.w3.org/2000/svg", viewBox="0 0 16 16", class_="chart__sample", aria_hidden="true"
    )
    name = f"{key}-sample-{band.kind}"
    add_pattern(element(svg, "defs"), name, band.kind)
    look = {"class_": f"chart__band chart__band--{band.kind}", "fill": f"url(#{name})"}
    element(svg, "rect", x=0.5, y=0.5, width=15, height=15, **look)
    return markup(svg)
