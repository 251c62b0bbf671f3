"""The table of docs/limits.md: each bound is reached while address, Host, port and spelling change.

`DRIVES` has for every row how to come one step closer to its bound. The setting is 2 meanwhile: two steps go well, the
third is beyond.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings as declared
from django.test import Client as Browser
from django.urls import resolve

from core.limits import middleware
from core.limits.counters import counters
from core.marks import Mark
from tests.security import limit_drives
from tests.security.limit_drives import DRIVES, World
from tests.urls import every_url

# A test stays within one window of each limit.
pytestmark = pytest.mark.usefixtures("stopped_clock")

PAGE = declared.PROJECT_DIR / "docs" / "limits.md"
# Spellings of the service's host.
HOSTS = ("localhost", "127.0.0.1", "LOCALHOST:8000")
LOGIN_PAGES = ("/account/login/?next", "/admin/login/")


@dataclass(frozen=True)
class Row:
    what: str
    paths: tuple[str, ...]
    counted_by: str
    setting: str
    beyond: str


def table_of(heading: str) -> list[list[str]]:
    """Return the rows of the first table below a heading, cell by cell, without its head."""
    table = re.findall(r"(?:^\|.*\|\n)+", PAGE.read_text().split(f"## {heading}\n", 1)[1], re.MULTILINE)[0]
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()[2:]]


def quoted(cell: str) -> tuple[str, ...]:
    return tuple(re.findall(r"`([^`]+)`", cell))


LIMITS, NOTHING_TO_BOUND = table_of("The table"), table_of("What takes a POST and has nothing to bound")
ROWS = [Row(what, quoted(paths), by, quoted(setting)[0], beyond) for what, paths, by, setting, beyond in LIMITS]
EACH = [pytest.param(row, path, id=f"{row.what}: {path}") for row in ROWS for path in row.paths]
LISTED = {path for row in ROWS for path in row.paths}
LISTED |= {path for cells in NOTHING_TO_BOUND for path in quoted(cells[0])}


def circumstances(row: Row) -> Iterator[dict[str, Any]]:
    """Yield what a caller changes from one request to the next, as far as the row does not count by it."""
    for n in count():
        ip = f"2001:db8:1:2::{n + 1:x}" if "address" in row.counted_by else f"198.51.100.{n + 1}"
        forged = {"X-Forwarded-For": f"192.0.2.{n}", "X-Real-IP": f"192.0.2.{n}", "Host": HOSTS[n % len(HOSTS)]}
        yield {"REMOTE_ADDR": ip, "headers": forged}


def is_beyond(row: Row, response: Any) -> bool:
    """Tell whether an answer is the one that the row promises."""
    text = response.content.decode()
    if row.beyond.startswith("429, shown"):
        return bool(response.context["result"].exchange.status == 429)
    if row.beyond.startswith("not in the sign-in log"):
        return bool(response.status_code == 302 and response.entries < response.sent)
    if row.beyond.startswith("429"):
        return bool(response.status_code == 429 and 1 <= int(response["Retry-After"]) <= 60)
    if row.beyond.startswith("mailbox verification"):
        return bool(response.status_code == 302 and response["Location"] == "/account/login/mailbox/")
    if row.beyond.startswith("page"):
        return bool(response.status_code == 200 and "We sent you several emails already" in text)
    if row.beyond.startswith("error in the form"):
        return bool(response.status_code == 200 and limit_drives.MESSAGES.search(text))
    return bool(response.status_code == 302 and response["Location"].startswith("/account/login"))


@pytest.mark.django_db  # the steps request their fixtures when they need them
@pytest.mark.parametrize(("row", "path"), EACH)
def test_each_limit_is_reached(row: Row, path: str, request: pytest.FixtureRequest, settings: Any) -> None:
    drive = DRIVES[row.what]
    world = World(request, path)
    step = drive.prepare(world)
    counters.cache_clear()  # what the preparation itself counted
    setattr(settings, row.setting, 2)
    settings.BILLING_SECRET = settings.BILLING_SECRET or "x" * 40
    for n, changes in zip(range(drive.within + 1), circumstances(row), strict=False):
        response = step(n, changes)
        assert is_beyond(row, response) == (n == drive.within), (n, response.status_code, response.content[-2000:])


def test_every_row_has_a_test_case() -> None:
    assert sorted(row.what for row in ROWS) == sorted(DRIVES)


def test_every_limit_setting_is_in_the_table() -> None:
    for row in ROWS:
        assert isinstance(getattr(declared, row.setting), int), row.setting


def test_every_setting_that_limits_how_often_is_on_the_page() -> None:
    page = PAGE.read_text()
    limits = [name for name in dir(declared) if re.search(r"_PER_(MINUTE|HOUR|DAY)$", name)]
    assert [name for name in limits if f"`{name}`" not in page] == []


def test_every_listed_path_is_mounted() -> None:
    assert {url.written for url in every_url()} >= LISTED


@pytest.mark.parametrize(
    ("mark", "setting"),
    [
        (middleware.limited_by_address, "FORMS_PER_ADDRESS_PER_MINUTE"),
        (middleware.limited_challenges, "PASSKEY_CHALLENGES_PER_MINUTE"),
        (middleware.limited_by_person, "FORMS_PER_PERSON_PER_MINUTE"),
        (middleware.limited_mailing, "MAILING_FORMS_PER_PERSON_PER_DAY"),
    ],
)
def test_the_views_that_are_marked_are_those_of_the_table(mark: Mark, setting: str) -> None:
    marked = {url.written for url in every_url() if mark.is_on(resolve(url.example).func)}
    assert marked == {path for row in ROWS if row.setting == setting for path in row.paths}


def test_every_anonymous_post_is_in_the_table(db: None, settings: Any) -> None:
    settings.BILLING_SECRET = "x" * 40
    urls = [*every_url()]
    assert len(urls) > 100
    for url in urls:
        browser = Browser(raise_request_exception=False)
        response = browser.post(url.example, urlencode({"a": "b"}), content_type="application/x-www-form-urlencoded")
        asks_to_sign_in = response.headers.get("Location", "").startswith(LOGIN_PAGES)
        if response.status_code not in (404, 405) and not asks_to_sign_in:
            assert url.written in LISTED, f"{url.name} ({url.written}) answers {response.status_code}"
