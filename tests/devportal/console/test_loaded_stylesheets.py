"""Each page loads the stylesheets that define its classes; console pages take few statements, whatever they list."""

import re
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client as Browser

from accounts.models import Account
from api import usage_counts
from api.models import RequestLog
from api.usage_counts import UsageCount
from core import clock
from devportal.console.analytics.store import SignInCount, add_counts
from devportal.console.models import SignInEvent
from devportal.docs.pages import PAGES
from oidc.apis.registry import reload_registry
from oidc.models import Client, ClientSecret, EventReceiver, Project, ProjectMember
from oidc.projects import invitations
from tests import remembered
from tests.devportal.console.test_console_access import things_of
from tests.factories import (
    REDIRECT_URI,
    as_reviewed,
    make_access_token,
    make_account,
    make_api,
    make_delivery,
    make_domain,
    make_key,
    make_receiver,
    make_web_client,
)
from tests.oidc.test_budgets import Counted
from tests.security.consoles import READ, Place, make_place
from tests.security.crawling import CONSOLE
from tests.test_stylesheets import STYLESHEETS, classes

pytestmark = pytest.mark.django_db
KNOWN = {name for sheet in STYLESHEETS for name in classes(sheet)}
MANY, MOST_STATEMENTS = 15, 12
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


def make_crowded_place() -> Place:
    """Return a project with many objects of each kind; its app has a long list of URLs, and another API exists."""
    place = make_place()
    project, owner = place.project, place.owner
    app = Client.objects.get(client_id=place.things["client_id"])
    uris = " ".join(f"{REDIRECT_URI}/{number}" for number in range(50))
    Client.objects.update(redirect_uris=uris, approved_domains="example.com", **as_reviewed())
    make_api()
    now = clock.now()
    hour, minute = now.replace(minute=0, second=0, microsecond=0), clock.timestamp() // 60
    step: dict[str, Any] = {"at": now, "outcome": "refused", "error": "invalid_request", "request_id": "r", "family": 7}
    refused: dict[str, Any] = {"status": 403, "code": "insufficient_scope"}
    tries = [{"at": now.isoformat(), "seconds": 1, "status": 500}]
    receivers = EventReceiver.objects.get(client=app), make_receiver(app, paused_at=now)
    for number in range(MANY):
        other, person = make_web_client(project, name=f"App {number}")[0], make_account()
        ProjectMember.objects.create(project=project, account=person, role=ProjectMember.Role.VIEWER)
        key, _ = make_key(project, owner)
        make_domain(project, f"d{number}.example")
        ClientSecret.objects.create(client=app, digest=str(number), last_four="abcd", revoked_at=now)
        invitations.invite(project, f"p{number}@example.com", "viewer", owner)
        for client in (app, other):
            make_access_token(client, person)
            add_counts([SignInCount(client.pk, hour, "issued", "", 1)])
            SignInEvent.objects.create(client=client, **step)
        for who in ({"client": other.client_id, "credential": ""}, {"client": "", "credential": key.public_id}):
            usage: dict[str, Any] = {"endpoint": "calendar", "minute": minute, "latency": 0, "calls": 1} | who | refused
            usage_counts.add_counts([UsageCount(project_id=project.pk, **usage)])
            call = RequestLog.objects.create(project=project, at=now, path="/v1/me", milliseconds=3, **who, **refused)
        for receiver in receivers:
            make_delivery(receiver, state="failed", tries=tries)
    place.things |= {"call": call.pk, "step": SignInEvent.objects.filter(client=app).latest("pk").pk}
    return place


@pytest.fixture
def crowded(db: None, request: pytest.FixtureRequest) -> Place:
    place = remembered.again((__name__, *request.fixturenames), make_crowded_place)
    reload_registry()
    return place


@pytest.mark.parametrize("name", sorted(name for name in READ if CONSOLE[name].get["owner"] == 200))
def test_console_pages_load_their_stylesheets_and_take_few_statements(name: str, crowded: Place) -> None:
    entry = {"request_detail": "call", "sign_in_detail": "step"}.get(name)
    url = crowded.url(name, **({"entry_id": crowded.things[entry]} if entry else {}))
    assert crowded.browser.get(url).status_code == 200
    with Counted() as counted:
        answer: Any = crowded.browser.get(url)
        text = b"".join(answer.streaming_content) if answer.streaming else answer.content
    assert len(counted.statements) <= MOST_STATEMENTS, "\n".join(counted.statements)
    if answer["Content-Type"].startswith("text/html"):
        assert not without_rules(text.decode())


@pytest.mark.parametrize("path", [*(page.address for page in PAGES.values()), "/docs/api/", "/docs/search?q=token"])
def test_docs_pages_load_the_needed_stylesheets(path: str, as_owner: Browser, owner: Account, project: Project) -> None:
    things_of(project, owner)  # a client and a key to choose
    assert not without_rules(as_owner.get(path).content.decode())
