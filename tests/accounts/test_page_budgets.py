"""The budgets of people's pages (docs/architecture.md#budgets): tests/people_pages.py has a line for each."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings

from tests.oidc.test_budgets import Counted
from tests.people_pages import IN_BETWEEN, MOST, NOTHING_SHOWN, OTHERS, PAGES, Page, make_world
from tests.security.crawl_world import Stage
from tests.security.crawling import ROWS, routes

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Everyone, made once for all pages."""
    cheap = {
        "PASSWORD_HASHERS": ["django.contrib.auth.hashers.MD5PasswordHasher"],
        "MEDIA_ROOT": tmp_path_factory.mktemp("media"),
    }
    with django_db_blocker.unblock(), override_settings(**cheap), transaction.atomic():
        yield make_world()
        transaction.set_rollback(True)


def test_every_page_of_people_has_a_line() -> None:
    listed = {page.address for page in PAGES} | IN_BETWEEN | NOTHING_SHOWN
    known = {row.route for row in ROWS if row.address in listed or row.address.startswith(OTHERS)}
    assert [route for route in routes() if route not in known] == [], "pages without a line in tests/people_pages.py"
    assert listed - {row.address for row in ROWS} == set(), "lines without a page"
    assert max(page.statements for page in PAGES) <= MOST


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.address)
def test_a_page_takes_no_more_statements_than_its_line_says(page: Page, world: Stage) -> None:
    walker, url = world.walkers[page.role], world.url(page.address)
    walker.ask("GET", url)  # messages that waited are shown, and what a process keeps is made
    with Counted() as counted:
        answer = walker.ask("GET", url)
    assert answer.response.status_code == 200
    assert len(counted.statements) <= page.statements, "\n".join(counted.statements)
