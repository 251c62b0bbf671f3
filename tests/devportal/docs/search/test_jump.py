"""/console/jump: a person's own projects and clients, by name, page or id, and the docs."""

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from api.models import RequestLog
from core import clock
from devportal.console import jump
from devportal.console.models import SignInEvent
from oidc.models import Project, ProjectMember
from tests.factories import make_account, make_client, make_project

pytestmark = pytest.mark.django_db
PAGE = "/console/jump"
REQUEST_ID = "Zq3v8Kd0sLw2Xy5Tb7Nf"


def addresses(browser: Browser, query: str, more: str = "") -> list[str]:
    answer = browser.get(PAGE, {"q": query} | ({"list": ""} if more else {}))
    assert answer.status_code == 200 or "\x00" in query
    soup = BeautifulSoup(answer.content, "html.parser")
    return [str(link["href"]) for link in soup.select(".jump-list a, [role=option]")]


def titles(account: Account, query: str) -> list[str]:
    return [target.title for target in jump.find_targets(account, query)]


def test_words_of_a_name_and_of_a_page_lead_to_that_page(owner: Account) -> None:
    garden, office = make_project(owner, name="Garden"), make_project(owner, name="Office")
    make_client(garden, name="Rose shop")
    make_client(office, name="Printer")
    assert titles(owner, "rose")[0] == "Rose shop"
    assert titles(owner, "rose sign-in log")[0] == "Rose shop: Sign-in log"
    assert titles(owner, "garden usage")[0] == "Garden: Usage"
    assert titles(owner, "usage") == ["Office: Usage", "Garden: Usage"]
    assert titles(owner, "prin sec")[0] == "Printer: Secrets"
    assert titles(owner, "office secrets")[0] == "Printer: Secrets"
    assert titles(owner, "rose printer") == []
    assert set(titles(owner, "")) == {"Garden", "Office", "Rose shop", "Printer"}


def test_only_pages_that_the_role_can_open_are_listed(owner: Account) -> None:
    project = make_project(owner, name="Garden")
    client = make_client(project, name="Rose shop")
    viewer = make_account()
    ProjectMember.objects.create(project=project, account=viewer, role=ProjectMember.Role.VIEWER)
    for query, needed in (("garden delete", "Garden: Delete project"), ("rose playground", "Rose shop: Playground")):
        assert needed in titles(owner, query)
        assert needed not in titles(viewer, query)
    browser = Browser()
    browser.force_login(viewer)
    for query in ("", "garden", "rose", "delete", "new", "settings", client.client_id[:12]):
        for address in addresses(browser, query):
            assert browser.get(address).status_code == 200, address


def test_outsiders_and_deleted_projects_are_not_listed(as_owner: Browser, project: Project) -> None:
    other_owner = make_account()
    other = make_project(other_owner, name="Elsewhere")
    theirs = make_client(other, name="Secret plan")
    RequestLog.objects.create(**call_of(other))
    SignInEvent.objects.create(client=theirs, at=clock.now(), request_id=REQUEST_ID)
    for query in ("", "elsewhere", "secret plan", "usage", theirs.client_id, other.public_id, REQUEST_ID):
        answer = as_owner.get(PAGE, {"q": query})
        assert answer.status_code == 200
        for hidden in (other.public_id, theirs.client_id + "/", "Secret plan:"):
            assert f"{hidden}/" not in answer.content.decode()
    client = make_client(project)
    Project.objects.filter(pk=project.pk).update(deleted_at=clock.now())
    assert as_owner.get(PAGE, {"q": client.client_id}).status_code == 200
    assert project.public_id not in as_owner.get(PAGE).content.decode()


def call_of(project: Project) -> dict[str, Any]:
    fields = {"method": "GET", "path": "/v1/me", "status": 200, "milliseconds": 3, "request_id": REQUEST_ID}
    return {"project": project, "at": clock.now()} | fields


def test_ids_lead_to_their_pages(as_owner: Browser, project: Project) -> None:
    client = make_client(project)
    base = f"/console/p/{project.public_id}/"
    assert as_owner.get(PAGE, {"q": f" {client.client_id} "})["Location"] == f"{base}clients/{client.client_id}/"
    assert as_owner.get(PAGE, {"q": project.public_id})["Location"] == base
    call = RequestLog.objects.create(**call_of(project))
    found = as_owner.get(PAGE, {"q": REQUEST_ID})
    assert found["Location"] == f"{base}requests?request_id={REQUEST_ID}"
    assert call.path in as_owner.get(found["Location"]).content.decode()
    for _ in range(2):  # several steps with one id are one entry of the list
        SignInEvent.objects.create(client=client, at=clock.now(), request_id=REQUEST_ID)
    listed = addresses(as_owner, REQUEST_ID)
    assert listed == [
        f"{base}clients/{client.client_id}/sign-ins?request_id={REQUEST_ID}",
        f"{base}requests?request_id={REQUEST_ID}",
    ]
    assert addresses(as_owner, client.client_id, "list") == [f"{base}clients/{client.client_id}/"]


def test_the_docs_are_found_too(as_owner: Browser, project: Project) -> None:
    assert "/docs/errors#token-invalid_grant" in addresses(as_owner, "invalid_grant")


def test_two_hundred_projects_take_no_more_statements(owner: Account) -> None:
    browser = Browser()
    browser.force_login(owner)
    for number in range(200):
        make_client(make_project(owner, name=f"Project {number}"), name=f"App {number}")
    for query in ("", "usage", "app 7", "project 137 requests", "abcdefgh", "zebra"):
        with CaptureQueriesContext(connection) as queries:
            listed = addresses(browser, query)
        assert len(queries) <= 12, query
        assert len(listed) <= jump.MOST_RESULTS + 6
    assert titles(owner, "project 137")[0] == "Project 137"
    assert titles(owner, "app 3")[0] == "App 3"  # the oldest but three of 200, most of whose ids hold a 3
    assert titles(owner, "app 137 sign-in log")[0] == "App 137: Sign-in log"


@pytest.mark.parametrize("query", ["", "\x00", "%", "_", "a" * 5000, "'; --", "\ud83d", "<script>", "\\", "[a-", "😀"])
@pytest.mark.parametrize("more", ["", "list"])
def test_odd_queries_are_answered(query: str, more: str, as_owner: Browser, project: Project) -> None:
    sent = query.encode("utf-8", "surrogatepass").decode("latin-1")
    addresses(as_owner, sent, more)


def test_options_are_those_of_a_listbox(as_owner: Browser, project: Project) -> None:
    soup = BeautifulSoup(as_owner.get(PAGE, {"q": "usage", "list": ""}).content, "html.parser")
    options = soup.select("[role=group] > [role=option]")
    assert options
    assert len({option["id"] for option in options}) == len(options)
    assert {str(option["tabindex"]) for option in options} == {"-1"}
    assert not soup.select("header, main")


def test_anonymous_people_are_sent_to_sign_in() -> None:
    assert Browser().get(PAGE)["Location"].startswith("/account/login/")
