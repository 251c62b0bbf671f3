"""Each page loads the stylesheets that define its classes."""

import re
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client as Browser
from django.urls import reverse

from accounts.models import Account
from api.models import RequestLog
from core import clock
from devportal.console.models import SignInEvent
from devportal.docs.pages import PAGES
from oidc.models import Client, Project
from tests.devportal.console.test_console_access import ROUTES, things_of
from tests.security.crawling import CONSOLE
from tests.test_stylesheets import STYLESHEETS, classes

pytestmark = pytest.mark.django_db
KNOWN = {name for sheet in STYLESHEETS for name in classes(sheet)}
# Of the built file's name: its sheet, and the hash of its content.
SHEET = re.compile(r"static/css/(.+?)(?:\.[0-9a-f]{12})?\.css")


def without_rules(page: str) -> set[str]:
    """Return the classes of a page for which there are rules, though not in the sheets that it loads."""
    soup = BeautifulSoup(page, "html.parser")
    links = [SHEET.search(str(link["href"])) for link in soup.select("link[rel=stylesheet]")]
    loaded = [f"{found[1]}.css" for found in links if found]
    assert loaded
    used = {name for element in soup.select("[class]") for name in element["class"]}
    return (used & KNOWN) - {name for sheet in set(loaded) & set(STYLESHEETS) for name in classes(sheet)}


def opens(name: str) -> bool:
    return CONSOLE[name].get.get("owner") == 200 and not name.endswith("_csv")


@pytest.mark.parametrize("name", sorted(name for name in ROUTES if name in CONSOLE and opens(name)))
def test_console_pages_load_the_needed_stylesheets(
    name: str, as_owner: Browser, owner: Account, project: Project
) -> None:
    things: dict[str, Any] = things_of(project, owner)
    if name == "request_detail":
        call = RequestLog.objects.create(project=project, at=clock.now(), path="/v1/me", status=401, milliseconds=3)
        things["entry_id"] = call.pk
    if name == "sign_in_detail":
        client = Client.objects.get(client_id=things["client_id"])
        refused = SignInEvent.objects.create(client=client, at=clock.now(), outcome="refused", error="invalid_request")
        things["entry_id"] = refused.pk
    answer = as_owner.get(reverse(f"console:{name}", kwargs={argument: things[argument] for argument in ROUTES[name]}))
    if answer.streaming or not answer["Content-Type"].startswith("text/html"):
        pytest.skip("a file")
    assert answer.status_code == 200
    assert not without_rules(answer.content.decode())


@pytest.mark.parametrize("path", [*(page.address for page in PAGES.values()), "/docs/api/", "/docs/search?q=token"])
def test_docs_pages_load_the_needed_stylesheets(path: str, as_owner: Browser, owner: Account, project: Project) -> None:
    things_of(project, owner)  # a client and a key to choose
    assert not without_rules(as_owner.get(path).content.decode())
