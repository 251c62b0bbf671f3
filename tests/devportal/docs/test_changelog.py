"""The changelog for developers: its page and its Atom feed."""

import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.test import Client as Browser

from devportal.docs import changelog
from devportal.docs.changelog import CHANGES, Change

ATOM = "{http://www.w3.org/2005/Atom}"
FEED = "/docs/changelog.atom"


def read(browser: Browser, **headers: str) -> ET.Element:
    answer = browser.get(FEED, headers=headers)
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("application/atom+xml")
    return ET.fromstring(answer.content)


def test_the_days_are_different_and_the_newest_is_first() -> None:
    days = [change.day for change in CHANGES]
    assert days == sorted(set(days), reverse=True)


def test_the_page_shows_each_change_with_its_day_and_names_the_feed(client: Browser) -> None:
    page = client.get("/docs/changelog").content.decode()
    assert f'<link rel="alternate" type="application/atom+xml" title="Changelog" href="{FEED}">' in page
    for change in CHANGES:
        assert f'<time datetime="{change.day.isoformat()}">' in page
        assert f'id="{change.anchor}"' in page


def test_the_feed_has_each_change_with_a_lasting_id(client: Browser, settings: Any) -> None:
    settings.AUTH_URL = "https://login.example.com"
    settings.ALLOWED_HOSTS = ["login.example.com"]
    feed = read(client, host="login.example.com")
    assert feed.findtext(f"{ATOM}title") == f"{settings.SERVICE_NAME}: changes for apps"
    links = {link.get("rel"): link.get("href") for link in feed.findall(f"{ATOM}link")}
    assert links == {
        "alternate": "https://login.example.com/docs/changelog",
        "self": "https://login.example.com/docs/changelog.atom",
    }
    entries = feed.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}title") for entry in entries] == [change.title for change in CHANGES]
    for entry, change in zip(entries, CHANGES, strict=True):
        assert entry.findtext(f"{ATOM}id") == f"https://login.example.com/docs/changelog#{change.anchor}"
        assert entry.findtext(f"{ATOM}updated") == f"{change.day.isoformat()}T00:00:00+00:00"
    assert feed.findtext(f"{ATOM}updated") == f"{CHANGES[0].day.isoformat()}T00:00:00+00:00"


def test_the_feed_needs_no_session_and_can_be_cached(client: Browser) -> None:
    answer = client.get(FEED)
    assert answer["Cache-Control"] == "public, max-age=300"
    assert not answer.cookies


def test_markup_in_a_change_stays_text(client: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = Change(CHANGES[0].day, "<b>A & B</b>", ("<script>alert(1)</script>",))
    monkeypatch.setattr(changelog, "CHANGES", (hostile,))
    entry = read(client).find(f"{ATOM}entry")
    assert entry is not None
    assert entry.findtext(f"{ATOM}title") == "<b>A & B</b>"
    shown = entry.findtext(f"{ATOM}summary") or ""
    assert re.findall(r"<(\w+)", shown) == ["ul", "li"]
    assert "&lt;script&gt;" in shown
