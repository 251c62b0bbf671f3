"""A project with one object of each kind, for tests that call every route of the console."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.test import Client as Browser
from django.urls import reverse

from accounts.models import Account
from oidc.models import Project
from tests.contents import Rows, contents, writes
from tests.devportal.console.test_console_access import ROUTES, things_of
from tests.factories import make_account, make_project
from tests.security.crawling import CONSOLE

# Routes without a row are left out, because tests/security/test_crawl.py reports them.
READ = [name for name in ROUTES if name in CONSOLE and 405 not in CONSOLE[name].get.values()]
SENT = [name for name in ROUTES if name in CONSOLE and CONSOLE[name].post["owner"] != 405]
# Writing to these tables does not count as a change.
ASIDE = frozenset({"sessions.Session"})


@dataclass
class Place:
    """A project, its signed-in owner, and an object of the project for every argument of a route."""

    project: Project
    owner: Account
    things: dict[str, Any]
    browser: Browser

    def url(self, name: str, **others: Any) -> str:
        """Return the URL of a route with this project's objects; `others` replace some of them."""
        return reverse(f"console:{name}", kwargs={key: (self.things | others)[key] for key in ROUTES[name]})


def make_place(email: str | None = None) -> Place:
    """Return a new project of a new owner, who is signed in."""
    owner = make_account(email)
    project = make_project(owner)
    things = things_of(project, owner)
    browser = Browser()
    browser.force_login(owner)
    browser.raise_request_exception = False
    return Place(project, owner, things, browser)


def rows() -> dict[str, Rows]:
    """Return all rows of the database, by table."""
    return contents(ASIDE)


def ask(browser: Browser, method: str, url: str, *args: Any, **kwargs: Any) -> tuple[Any, bool]:
    """Send a request and roll it back. Return the response, and whether the request changed the database."""
    with transaction.atomic(), writes() as written:
        response = getattr(browser, method)(url, *args, **kwargs)
        if response.streaming:
            list(response.streaming_content)
        # Only read the whole database if something was written, because reading it takes longer than most requests.
        after = rows() if written else None
        transaction.set_rollback(True)
    return response, after is not None and rows() != after
