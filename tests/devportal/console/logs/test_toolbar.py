"""The toolbar of the logs: spans of time, chips that can be removed one by one, and filters that stay in all links."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client as Browser

from core import clock
from devportal.console.logs.filters import LogFilters, Toolbar, build_toolbar
from oidc.models import Project
from tests.devportal.console.logs.test_request_log import address, log, shown


def toolbar(browser: Browser, project: Project, **filters: str) -> Toolbar:
    found: Toolbar = browser.get(address(project, **filters)).context["toolbar"]
    return found


@pytest.fixture
def aged(project: Project) -> Project:
    """A log with an entry of each age in minutes."""
    for minutes in (5 * 24 * 60, 20 * 60, 40, 5):
        log(project, at=clock.now() - timedelta(minutes=minutes), request_id=str(minutes), client="c1")
    return project


@pytest.mark.parametrize(
    ("span", "found"),
    [
        ("15m", ["5"]),
        ("1h", ["5", "40"]),
        ("24h", ["5", "40", "1200"]),
        ("7d", ["5", "40", "1200", "7200"]),
        ("", ["5", "40", "1200", "7200"]),
    ],
)
def test_spans_count_back_from_now(span: str, found: list[str], as_viewer: Browser, aged: Project) -> None:
    assert shown(as_viewer, aged, range=span) == found


@pytest.mark.parametrize("span", ["90d", "\u202e", "x" * 3000, "15m;DROP"])
def test_an_invalid_time_span_is_ignored(span: str, as_viewer: Browser, aged: Project) -> None:
    assert len(shown(as_viewer, aged, range=span)) == 4


def test_from_and_to_take_precedence_over_a_time_span(as_viewer: Browser, aged: Project) -> None:
    since = (clock.now() - timedelta(hours=30)).strftime("%Y-%m-%dT%H:%M")
    assert shown(as_viewer, aged, range="15m", **{"from": since}) == ["5", "40", "1200"]


def test_links_to_spans_keep_the_other_filters(as_viewer: Browser, aged: Project) -> None:
    found = toolbar(as_viewer, aged, status="2xx", range="1h", before="9")
    assert [preset.label for preset in found.presets] == ["15 min", "1 h", "24 h", "7 d", "30 d"]
    assert [preset.label for preset in found.presets if preset.is_current] == ["1 h"]
    assert found.presets[0].link == "?status=2xx&range=15m"
    assert found.presets[-1].link == "?status=2xx"
    assert toolbar(as_viewer, aged).presets[-1].link == "?"


def test_no_span_is_current_beside_from_and_to(as_viewer: Browser, aged: Project) -> None:
    found = toolbar(as_viewer, aged, **{"from": "2026-01-01"})
    assert not any(preset.is_current for preset in found.presets)
    assert found.presets[0].link == "?range=15m"


def test_each_filter_is_a_chip_that_can_be_removed(as_viewer: Browser, aged: Project) -> None:
    found = toolbar(as_viewer, aged, status="2xx", who="c 1", range="1h")
    assert [(chip.label, chip.value) for chip in found.chips] == [("Status", "2xx and 3xx"), ("By", "c 1")]
    assert found.chips[0].link == "?who=c+1&range=1h"
    assert found.chips[1].link == "?status=2xx&range=1h"
    assert toolbar(as_viewer, aged, status="2xx").chips[0].link == "?"
    text = as_viewer.get(address(aged, status="2xx")).content.decode()
    assert 'Remove<span class="visually-hidden"> the filter Status</span>' in text


def test_an_invalid_filter_opens_the_form(as_viewer: Browser, aged: Project) -> None:
    found = toolbar(as_viewer, aged, **{"from": "soon"})
    assert found.chips == []
    assert found.is_open
    assert not toolbar(as_viewer, aged).is_open


def test_pages_and_entries_keep_the_filters(as_viewer: Browser, project: Project) -> None:
    for number in range(55):
        log(project, request_id=str(number), at=clock.now())
    response = as_viewer.get(address(project, status="2xx", range="1h"))
    older = response.context["page"].older
    assert "status=2xx" in older
    assert "range=1h" in older
    row = response.context["lines"][0].row
    link = f"/console/p/{project.public_id}/requests/{row.pk}?status=2xx&amp;range=1h"
    assert f'href="{link}"' in response.content.decode()
    entry = as_viewer.get(link.replace("&amp;", "&"))
    assert entry.context["log_url"] == address(project, status="2xx", range="1h")


def test_a_toolbar_without_filters() -> None:
    none: Any = LogFilters(given={"status": ""})
    assert build_toolbar(none, [("status", "Status", {"2xx": "Good"})], 30).chips == []
