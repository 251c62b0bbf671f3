"""Charts: what is drawn is what was counted, and the table says all of it."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from django.template.loader import render_to_string

from devportal.console.charts import KINDS, SIZES, BarChart, LimitLine, Series, format_change, nice_scale, short_number

START = datetime(2026, 11, 20, 3, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
SVG = "{http://www.w3.org/2000/svg}"


def chart(*bands: Series, limit: LimitLine | None = None, step: timedelta = HOUR, key: str = "calls") -> BarChart:
    starts = [START + step * place for place in range(len(bands[0].values))]
    return BarChart(key, "Requests", starts, step, bands, limit)


def drawing(made: BarChart, width: str = "wide") -> ElementTree.Element:
    return ElementTree.fromstring(dict(made.drawings)[width])


def heights(svg: ElementTree.Element, kind: str) -> list[float]:
    """Return how high each bar of a kind is drawn."""
    (path,) = svg.findall(f"{SVG}path[@class='chart__band chart__band--{kind}']")
    return [float(text) for text in re.findall(r"v-([\d.]+)h", path.get("d") or "")]


def feet(svg: ElementTree.Element, kind: str) -> list[float]:
    """Return on what height each bar of a kind stands."""
    (path,) = svg.findall(f"{SVG}path[@class='chart__band chart__band--{kind}']")
    return [float(text) for text in re.findall(r"M[\d.]+ ([\d.]+)v", path.get("d") or "")]


def test_every_axis_has_whole_numbers_and_few_marks() -> None:
    for peak in [*range(2000), 10**6, 10**9 + 1, 10**15]:
        top, distance = nice_scale(peak)
        assert top >= peak
        assert top % distance == 0
        assert 1 <= top // distance <= 4


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (999, "999"),
        (2000, "2,000"),
        (999_999, "1,000k"),
        (1_500_000, "1.5M"),
        (2_000_000_000, "2G"),
    ],
)
def test_numbers_are_short_on_an_axis(number: int, text: str) -> None:
    assert short_number(number) == text


def test_full_hours_and_days_are_marked() -> None:
    def times(step: timedelta, count: int) -> list[str]:
        texts = drawing(chart(Series("All", "good", [1] * count), step=step)).findall(f"{SVG}text")
        return [text.text or "" for text in texts if text.get("text-anchor") != "end" or "Nov" in (text.text or "")]

    assert times(timedelta(minutes=1), 60)[:3] == ["03:00", "03:10", "03:20"]
    assert times(HOUR, 24)[:3] == ["03:00", "06:00", "09:00"]
    assert times(timedelta(hours=3), 56)[:2] == ["21 Nov", "22 Nov"]
    assert times(timedelta(days=1), 30)[0] == "20 Nov"


def test_heights_are_in_proportion_and_layers_stand_on_each_other() -> None:
    made = chart(Series("Good", "good", [100, 50, 0]), Series("Bad", "server-error", [50, 0, 10]))
    svg = drawing(made)
    good, bad = heights(svg, "good"), heights(svg, "server-error")
    assert good == pytest.approx([good[0], good[0] / 2])
    assert bad == pytest.approx([good[0] / 2, good[0] / 10], abs=0.02)
    bottom = feet(svg, "good")[0]
    assert feet(svg, "server-error") == pytest.approx([bottom - good[0], bottom], abs=0.02)


def test_nothing_is_drawn_outside_the_picture() -> None:
    for size in SIZES:
        made = chart(Series("Good", "good", [7, 10**9, 3] * 20), limit=LimitLine("The limit", 2 * 10**9))
        svg = drawing(made, size.name)
        for foot, height in zip(feet(svg, "good"), heights(svg, "good"), strict=True):
            assert 0 <= foot - height <= foot <= size.height
        for text in svg.findall(f"{SVG}text"):
            assert 0 <= float(text.get("x") or 0) <= size.width
            assert 0 <= float(text.get("y") or 0) <= size.height


def test_the_limit_is_on_the_scale_of_the_bars() -> None:
    svg = drawing(chart(Series("Good", "good", [300]), limit=LimitLine("600 a minute", 600)))
    (line,) = svg.findall(f"{SVG}line[@class='chart__limit']")
    foot, height = feet(svg, "good")[0], heights(svg, "good")[0]
    assert float(line.get("y1") or 0) == pytest.approx(foot - 2 * height, abs=0.02)


def test_every_other_kind_has_a_pattern_for_more_contrast() -> None:
    marks = set()
    for kind in set(KINDS) - {"good"}:
        svg = drawing(chart(Series("One", kind, [1])))
        (path,) = svg.findall(f"{SVG}defs/{SVG}pattern/{SVG}path")
        marks.add(path.get("d"))
    assert len(marks) == len(KINDS) - 1


def test_a_chart_has_a_text_alternative() -> None:
    made = chart(
        Series("Good", "good", [1200, 3]), Series("Bad", "server-error", [0, 4]), limit=LimitLine("the cap", 9)
    )
    for size in SIZES:
        svg = drawing(made, size.name)
        names = {element.get("id"): element.text or "" for element in svg if element.get("id")}
        title, text = (names[key] for key in (svg.get("aria-labelledby") or "").split())
        assert title == "Requests"
        assert "Good 1,203, Bad 4" in text
        assert "A line marks the cap." in text


def test_the_table_holds_every_value() -> None:
    page = render_to_string(
        "console/partials/chart.html",
        {"chart": chart(Series("Good", "good", [1234, 3]), Series("Bad", "server-error", [0, 4]))},
    )
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.S)[1:]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]", re.sub(r"</?time[^>]*>", "", row)) for row in rows]
    assert cells == [["20 Nov 2026, 03:00 UTC", "1,234", "0", "1,234"], ["20 Nov 2026, 04:00 UTC", "3", "4", "7"]]


def test_a_change_leaves_out_the_last_bar_which_has_not_ended() -> None:
    assert format_change([10, 12, 1], [10, 10, 99]) == "+10 %"
    assert format_change([5, 1], [10, 9]) == "-50 %"
    assert format_change([10, 12], [0, 4]) == ""
    assert format_change([10, 12], ()) == ""


def test_the_table_compares_with_the_period_before() -> None:
    made = replace(chart(Series("Good", "good", [1234, 3])), before=[1000, 7])
    page = render_to_string("console/partials/chart.html", {"chart": made})
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.S)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]", re.sub(r"</?time[^>]*>", "", row)) for row in rows]
    assert cells == [
        ["From", "Good", "Period before"],
        ["20 Nov 2026, 03:00 UTC", "1,234", "1,000"],
        ["20 Nov 2026, 04:00 UTC", "3", "7"],
    ]


def test_each_bar_names_its_row_of_the_table() -> None:
    svg = drawing(chart(Series("Good", "good", [1, 0, 2])))
    assert [rect.get("data-bar") for rect in svg.iter(f"{SVG}rect") if rect.get("data-bar")] == ["0", "2"]


def test_a_small_chart_has_bars_and_no_axes() -> None:
    page = render_to_string(
        "console/partials/chart.html", {"chart": chart(Series("Good", "good", [4, 2])), "small": True}
    )
    assert "chart__drawing--small" in page
    assert "chart__grid" not in page
    assert "chart__legend" not in page
    assert "Show as a table" in page


def test_an_empty_chart_shows_a_sentence() -> None:
    page = render_to_string("console/partials/chart.html", {"chart": chart(Series("Good", "good", [0, 0]))})
    assert "<svg" not in page
    assert "There is no data for this period" in page


def test_nothing_is_inline_and_ids_are_unique() -> None:
    bands = [Series(kind, kind, [5, 1]) for kind in KINDS]
    page = "".join(
        render_to_string("console/partials/chart.html", {"chart": chart(*bands, key=key)}) for key in ("one", "two")
    )
    assert "style=" not in page
    assert "<script" not in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    referred = set(re.findall(r"url\(#([^)]+)\)", page))
    assert referred <= set(ids)


def test_names_in_charts_are_escaped() -> None:
    hostile = '</title><script>alert(1)</script>"&'
    page = render_to_string(
        "console/partials/chart.html",
        {"chart": BarChart("k", hostile, [START], HOUR, [Series(hostile, "good", [1])], LimitLine(hostile, 1))},
    )
    assert "<script" not in page
