"""/console/jump: a person's own projects and what they contain, by name, page, action or id, and the docs."""

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from api.models import ApiKey, RequestLog
from core import clock
from devportal.console import jump
from devportal.console.jump import Here
from devportal.console.models import SignInEvent
from devportal.console.navigation import CLIENT_PAGES, PROJECT_PAGES
from oidc.models import Project, ProjectDomain, ProjectMember
from tests.factories import make_account, make_client, make_key, make_project, make_web_client

pytestmark = pytest.mark.django_db
PAGE = "/console/jump"
REQUEST_ID = "Zq3v8Kd0sLw2Xy5Tb7Nf"


def addresses(browser: Browser, query: str, more: str = "") -> list[str]:
    answer = browser.get(PAGE, {"q": query} | ({"list": ""} if more else {}))
    assert answer.status_code == 200 or "\x00" in query
    soup = BeautifulSoup(answer.content, "html.parser")
    return [str(link["href"]) for link in soup.select(".jump-list a, [role=option]")]


def titles(account: Account, query: str, here: Here | None = None) -> list[str]:
    return [target.title for target in jump.find_targets(account, query, here)]


def fill(project: Project, owner: Account, name: str) -> None:
    """Give a project a client, a key, a domain and another member whose names contain `name`."""
    make_client(project, name=f"{name} client")
    make_key(project, owner, name=f"{name} script")
    ProjectDomain.objects.create(project=project, name=f"{name.lower()}.example.com", added_at=clock.now())
    other = make_account(email=f"{name.lower().replace(' ', '.')}@mail.example.com")
    ProjectMember.objects.create(project=project, account=other, role=ProjectMember.Role.VIEWER)


def test_words_of_a_name_and_of_a_page_lead_to_that_page(owner: Account) -> None:
    garden, office = make_project(owner, name="Garden"), make_project(owner, name="Office")
    make_client(garden, name="Rose shop")
    make_web_client(office, name="Printer")
    assert titles(owner, "rose")[0] == "Rose shop"
    assert titles(owner, "rose sign-in log")[0] == "Rose shop: Sign-in log"
    assert titles(owner, "garden usage")[0] == "Garden: Usage"
    assert titles(owner, "usage") == ["Office: Usage", "Garden: Usage"]
    assert titles(owner, "prin sec")[0] == "Printer: Secrets"
    assert titles(owner, "office secrets")[0] == "Printer: Secrets"
    assert titles(owner, "rose printer") == []
    assert set(titles(owner, "")) == {"Garden", "Office", "Rose shop", "Printer"}


def test_only_an_app_with_secrets_has_actions_for_them(project: Project, owner: Account) -> None:
    make_client(project, name="Browser app")
    assert not [title for title in titles(owner, "rotate secret") if "secret" in title]
    make_web_client(project, name="Server app")
    assert titles(owner, "rotate secret")[0] == "Server app: Rotate a secret"


def test_only_pages_that_the_role_can_open_are_listed(owner: Account) -> None:
    project = make_project(owner, name="Garden")
    client, _ = make_web_client(project, name="Rose shop")
    viewer = make_account()
    ProjectMember.objects.create(project=project, account=viewer, role=ProjectMember.Role.VIEWER)
    for query, needed in (("garden delete", "Garden: Delete project"), ("rose delete", "Rose shop: Delete app")):
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
    assert found["Location"] == f"{base}logs/requests?request_id={REQUEST_ID}"
    assert call.path in as_owner.get(found["Location"]).content.decode()
    for _ in range(2):  # several steps with one id are one entry of the list
        SignInEvent.objects.create(client=client, at=clock.now(), request_id=REQUEST_ID)
    listed = addresses(as_owner, REQUEST_ID)
    assert listed == [
        f"{base}clients/{client.client_id}/activity?request_id={REQUEST_ID}",
        f"{base}logs/requests?request_id={REQUEST_ID}",
    ]
    assert addresses(as_owner, client.client_id, "list") == [f"{base}clients/{client.client_id}/"]


def test_the_docs_are_found_too(as_owner: Browser, project: Project) -> None:
    assert "/docs/errors#token-invalid_grant" in addresses(as_owner, "invalid_grant")


def test_actions_lead_to_the_page_of_the_current_client(owner: Account) -> None:
    garden, office = make_project(owner, name="Garden"), make_project(owner, name="Office")
    rose, _ = make_web_client(garden, name="Rose shop")
    make_web_client(office, name="Printer")
    at_rose = Here(garden.public_id, rose.client_id)
    for query, expected in (
        ("rotate secret", "Rose shop: Rotate a secret"),
        ("add redirect URL", "Rose shop: Add a redirect URL"),
        ("add redirect uri", "Rose shop: Add a redirect URL"),
        ("create key", "Garden: Create an API key"),
        ("invite member", "Garden: Invite a member"),
        ("delete project", "Garden: Delete project"),
        ("delete client", "Rose shop: Delete app"),
        ("usage", "Garden: Usage"),
        ("create project", "Console: Create a project"),
        ("printer secrets", "Printer: Secrets"),
    ):
        assert titles(owner, query, at_rose)[0] == expected, query
    assert titles(owner, "rotate secret")[0] == "Printer: Rotate a secret"
    assert titles(owner, "", at_rose)[:2] == ["Rose shop", "Garden"]


def test_exact_words_come_before_the_current_project(owner: Account) -> None:
    garden, office = make_project(owner, name="Garden"), make_project(owner, name="Office")
    make_client(office, name="Rose")
    roseanne = make_client(garden, name="Roseanne")
    assert titles(owner, "rose", Here(garden.public_id, roseanne.client_id))[:2] == ["Rose", "Roseanne"]
    assert "Rose: Quick start" in titles(owner, "rose")


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("Mylogin", "login"),
        ("Zebra", "br"),
        ("C++ tools", "++"),
        ("Ümlaut", "ümla"),
        ("The uris", "the uris"),
        ("🌹", "🌹"),
        ("a.b_c-d", "b_c-"),
        ("Straße", "STRASSE"),
    ],
)
def test_a_name_that_contains_the_letters_is_found(owner: Account, name: str, typed: str) -> None:
    project = make_project(owner, name="Elsewhere")
    make_client(project, name=name)
    for number in range(3):
        make_client(project, name=f"Pink {number}")
    assert name in titles(owner, typed)
    Project.objects.filter(pk=make_project(owner).pk).update(name=name)
    make_key(project, owner, name=name)
    found = [(target.title, target.of) for target in jump.find_targets(owner, typed)]
    expected = {(name, "Project"), (name, "App in Elsewhere")}
    if name != "Straße":  # the database compares ß with itself only
        expected.add((name, "API key in Elsewhere"))
    assert expected <= set(found)


def test_a_name_is_found_among_two_hundred_that_match_better(owner: Account) -> None:
    oldest = make_project(owner, name="Xproject 137x")
    for number in range(120):
        make_client(make_project(owner, name=f"Project {number}"), name=f"Project app {number}")
    assert oldest.name in titles(owner, "project 137x")


def test_keys_members_and_domains_are_found_by_name(as_owner: Browser, owner: Account) -> None:
    project = make_project(owner, name="Garden")
    fill(project, owner, "Tulip")
    base, key = f"/console/p/{project.public_id}/", ApiKey.objects.get(name="Tulip script")
    found = {target.title: (target.of, target.address) for target in jump.find_targets(owner, "tulip")}
    assert found["Tulip script"] == ("API key in Garden", f"{base}keys?q={key.public_id}")
    assert found["tulip.example.com"] == ("Domain of Garden", f"{base}domains")
    assert found["tulip@mail.example.com"] == ("Member of Garden", f"{base}team")
    assert "Tulip client" in found
    assert "Tulip script" in titles(owner, key.public_id[:6])
    listed = as_owner.get(found["Tulip script"][1]).content.decode()
    assert "Tulip script" in listed
    # The kind alone names none of them.
    assert "Tulip script" not in titles(owner, "keys")
    assert "tulip.example.com" not in titles(owner, "garden domains")


def test_nothing_of_other_projects_is_listed_wherever_the_person_claims_to_be(
    as_owner: Browser, project: Project, owner: Account
) -> None:
    stranger = make_account()
    other = make_project(stranger, name="Orchid project")
    fill(other, stranger, "Orchid")
    deleted = make_project(owner, name="Orchid deleted")
    fill(deleted, owner, "Orchid gone")
    Project.objects.filter(pk=deleted.pk).update(deleted_at=clock.now())
    left = make_project(stranger, name="Orchid left")
    membership = ProjectMember.objects.create(project=left, account=owner, role=ProjectMember.Role.OWNER)
    fill(left, stranger, "Orchid former")
    membership.delete()
    for place in (other, deleted, left):
        client = place.clients.get()
        where = {"project": place.public_id, "client": client.client_id}
        for query in ("", "orchid", "o", "delete project", "keys", "members", "orchid usage"):
            page = as_owner.get(PAGE, {"q": query, "list": ""} | where).content.decode()
            assert place.public_id not in page, query
            assert client.client_id not in page, query
            assert "Orchid" not in page, query
            assert "orchid" not in page, query


def test_every_section_that_an_action_names_is_on_its_page(as_owner: Browser, project: Project) -> None:
    client, _ = make_web_client(project)
    for pages, arguments in (
        (PROJECT_PAGES, (project.public_id,)),
        (CLIENT_PAGES, (project.public_id, client.client_id)),
    ):
        for page in pages:
            answer = as_owner.get(page.url(arguments).partition("#")[0])
            assert answer.status_code == 200, page
            if page.section:
                assert f'id="{page.section}"' in answer.content.decode(), page


def test_pages_of_the_console_say_where_the_person_is(as_owner: Browser, project: Project) -> None:
    client = make_client(project)
    page = as_owner.get(f"/console/p/{project.public_id}/clients/{client.client_id}/")
    soup = BeautifulSoup(page.content, "html.parser")
    link = soup.select_one("[data-jump]")
    assert link is not None
    assert link["href"] == f"/console/jump?project={project.public_id}&client={client.client_id}"
    hidden = {field["name"]: field["value"] for field in soup.select("dialog input[type=hidden]")}
    assert hidden == {"project": project.public_id, "client": client.client_id}
    jump_page = BeautifulSoup(as_owner.get(str(link["href"])).content, "html.parser")
    kept = {field["name"]: field["value"] for field in jump_page.select("main input[type=hidden]")}
    assert kept == hidden
    assert as_owner.get("/docs/").status_code == 200
    odd = as_owner.get(PAGE, {"project": "\x00<script>", "client": "'", "q": "usage"})
    assert "<script>&" not in odd.content.decode()


def test_two_hundred_projects_take_no_more_statements(owner: Account) -> None:
    first = make_project(owner, name="Oldest")
    client, _ = make_web_client(first, name="Old program")
    browser = Browser()
    browser.force_login(owner)
    for number in range(200):
        make_client(make_project(owner, name=f"Project {number}"), name=f"App {number}")
    for query in ("", "usage", "app 7", "project 137 requests", "abcdefgh", "zebra"):
        with CaptureQueriesContext(connection) as queries:
            listed = addresses(browser, query)
        assert len(queries) <= 10, query
        assert len(listed) <= jump.MOST_RESULTS + 6
        with CaptureQueriesContext(connection) as queries:
            jump.find_targets(owner, query)
        assert len(queries) <= 3, query
    assert titles(owner, "project 137")[0] == "Project 137"
    assert titles(owner, "app 3")[0] == "App 3"  # the oldest but three of 200, most of whose ids hold a 3
    here = Here(first.public_id, client.client_id)
    assert titles(owner, "rotate secret", here)[0] == "Old program: Rotate a secret"
    assert titles(owner, "app 137 sign-in log")[0] == "App 137: Sign-in log"


@pytest.mark.parametrize("query", ["\x00", "%", "a" * 5000, "\ud83d", "<script>", "[a-"])
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
