"""Lists of the admin: paged by key, never counted, as many statements however many rows, searched by index alone."""

import re
from collections.abc import Callable

import pytest
from django.contrib import admin
from django.db import connection
from django.db.models import Model
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from accounts.models import Account, Outbox, PairwiseSubject
from api import usage_counts
from core import clock
from core.admin.model_admin import ServiceModelAdmin
from devportal.console.models import AuditEvent, SignInEvent
from oidc.events.queueing import queue_test
from oidc.models import Connection, Delivery, EventReceiver, Project
from tests.api.calls import ME, call
from tests.devportal.admin.conftest import World
from tests.factories import make_access_token, make_account, make_client, make_key, make_project

PEOPLE = "/admin/accounts/account/"
# Who asks, whose roles, the session, and the list itself; a filter's choices, and a look whether an act is open.
MOST_STATEMENTS = 9


def emails(text: str) -> list[str]:
    return re.findall(r">(p\d+@example\.com)<", text)


def link(text: str, rel: str) -> str | None:
    found = re.search(rf'rel="{rel}" href="([^"]+)"', text)
    return found[1].replace("&amp;", "&") if found else None


@pytest.fixture
def crowd(as_operator: Browser) -> list[str]:
    """120 people, the newest first, beside the operator."""
    rows = [Account(email=f"p{number}@example.com") for number in range(120)]
    Account.objects.bulk_create(rows)
    return [row.email for row in rows][::-1]


def test_pages_link_to_the_next_and_previous_page(as_operator: Browser, crowd: list[str]) -> None:
    pages, url = [], PEOPLE
    while True:
        text = as_operator.get(url).content.decode()
        pages.append((url, text))
        following = link(text, "next")
        if following is None:
            break
        url = PEOPLE + following
    assert [len(emails(text)) for _, text in pages] == [50, 50, 20]
    assert [email for _, text in pages for email in emails(text)] == crowd
    assert link(pages[0][1], "prev") is None
    before = link(pages[2][1], "prev")
    assert before is not None
    assert emails(as_operator.get(PEOPLE + before).content.decode()) == crowd[50:100]


@pytest.mark.parametrize("query", ["o=1", "o=-2.1", "p=7", "all=", "_facets=True", "e=1", "o=x&p=x"])
def test_no_other_order_and_no_other_page_can_be_asked_for(as_operator: Browser, crowd: list[str], query: str) -> None:
    assert emails(as_operator.get(f"{PEOPLE}?{query}").content.decode()) == crowd[:50]


def test_a_search_is_kept_across_pages(as_operator: Browser, crowd: list[str]) -> None:
    text = as_operator.get(f"{PEOPLE}?q=P1").content.decode()
    found = [email for email in crowd if email.startswith("p1")]
    assert emails(text) == found
    Account.objects.bulk_create(Account(email=f"p1{number}@example.com") for number in range(200, 260))
    following = link(as_operator.get(f"{PEOPLE}?q=p1").content.decode(), "next")
    assert following is not None
    assert "q=p1" in following


@pytest.mark.parametrize("term", ["%", "_", "p%", "\\", "'", "p_@example.com"])
def test_wildcards_are_matched_literally(as_operator: Browser, crowd: list[str], term: str) -> None:
    assert emails(as_operator.get(PEOPLE, {"q": term}).content.decode()) == []


def test_a_person_is_found_by_a_sub(as_operator: Browser, world: World) -> None:
    sub = PairwiseSubject.objects.filter(account=world.person).values_list("sub", flat=True)[0]
    text = as_operator.get(PEOPLE, {"q": sub}).content.decode()
    assert world.person.email in text
    assert "opal@example.com</a>" not in text


@pytest.mark.parametrize(
    ("path", "term"),
    [
        ("oidc/project", lambda world: world.project.public_id),
        ("oidc/project", lambda world: "Light"),
        ("oidc/client", lambda world: world.client.client_id),
        ("oidc/client", lambda world: "beac"),
        ("oidc/client", lambda world: "lighthouse"),
        ("oidc/client", lambda world: "ada@example.com"),
        ("oidc/project", lambda world: "ada@example.com"),
        ("oidc/connection", lambda world: world.client.client_id),
        ("oidc/connection", lambda world: "ADA@example.com"),
        ("oidc/accesstoken", lambda world: "ada@example.com"),
        ("oidc/refreshtoken", lambda world: "ada@example.com"),
        ("oidc/eventreceiver", lambda world: world.client.client_id),
        ("oidc/delivery", lambda world: world.client.client_id),
        ("oidc/delivery", lambda world: Delivery.objects.values_list("jti", flat=True)[0]),
        ("oidc/delivery", lambda world: Delivery.objects.values_list("sub", flat=True)[0]),
        ("api/apikey", lambda world: world.key.public_id),
        ("api/apikey", lambda world: "ada@example.com"),
        ("api/requestlog", lambda world: "r" * 20),
        ("api/requestlog", lambda world: world.project.public_id),
        ("console/signinevent", lambda world: world.client.client_id),
        ("console/signinevent", lambda world: "s" * 20),
        ("console/auditevent", lambda world: world.client.client_id),
        ("console/auditevent", lambda world: world.project.public_id),
        ("console/auditevent", lambda world: "ada@example.com"),
        ("accounts/family", lambda world: "ada@example.com"),
        ("accounts/organization", lambda world: "Lant"),
        ("accounts/organizationmember", lambda world: "ada@example.com"),
        ("accounts/subscription", lambda world: "ada@example.com"),
        ("accounts/subscription", lambda world: "Lantern & Co"),
        ("accounts/invitation", lambda world: "new@example.com"),
        ("accounts/outbox", lambda world: "new@example.com"),
        ("accounts/plan", lambda world: "lum"),
        ("accounts/feature", lambda world: "ran"),
    ],
)
def test_search_finds_matching_rows(
    as_operator: Browser, world: World, path: str, term: Callable[[World], str]
) -> None:
    found = as_operator.get(f"/admin/{path}/", {"q": term(world)})
    assert found.context["cl"].result_list, "found nothing"
    missed = as_operator.get(f"/admin/{path}/", {"q": f"{term(world)}x"})
    assert not missed.context["cl"].result_list


def _more(world: World) -> None:
    """Make some more rows of everything that has a list."""
    for number in range(12):
        person = make_account(f"more{number}@example.com")
        project = make_project(person, name=f"More {number}")
        client = make_client(project, name=f"More {number}")
        make_key(project, person)
        make_access_token(client, person)
        now = clock.now()
        receiver = EventReceiver.objects.create(client=client, channel="events", url="https://a.example/")
        queue_test(receiver)
        SignInEvent.objects.create(client=client, at=now, endpoint="authorize", outcome="refused", request_id="t" * 20)
        AuditEvent.objects.create(at=now, action="x", actor=person, actor_email=person.email, target="y")
        Outbox.objects.create(
            to=person.email, subject="s", body="b", message_id=f"<{number}@x>", created_at=now, not_before=now
        )


def long_pages() -> list[tuple[type[Model], ServiceModelAdmin]]:  # type: ignore[type-arg]
    return [(model, page) for model, page in admin.site._registry.items() if page.is_long]  # type: ignore[attr-defined, misc]


def statements(browser: Browser, url: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert browser.get(url).status_code == 200
    return [query["sql"] for query in captured.captured_queries]


def test_lists_cost_the_same_however_many_rows_and_count_none(as_operator: Browser, world: World) -> None:
    urls = [f"/admin/{model._meta.app_label}/{model._meta.model_name}/" for model, _ in long_pages()]
    urls = [url for url in urls if as_operator.get(url).status_code == 200]
    assert len(urls) >= 16
    before = {url: len(statements(as_operator, url)) for url in urls}
    _more(world)
    for url in urls:
        asked = statements(as_operator, url)
        assert len(asked) == before[url], (url, asked)
        assert len(asked) <= MOST_STATEMENTS, (url, asked)
        assert not [sql for sql in asked if "COUNT(" in sql], url


def test_the_list_of_rows_is_bounded(as_operator: Browser, crowd: list[str]) -> None:
    listed = [sql for sql in statements(as_operator, PEOPLE) if "ORDER BY" in sql and "accounts_account" in sql]
    assert listed
    assert all("LIMIT 51" in sql for sql in listed)


def test_fields_for_people_offer_a_limited_list(as_operator: Browser, crowd: list[str]) -> None:
    url = "/admin/autocomplete/?app_label=accounts&model_name=family&field_name=owner"
    asked = statements(as_operator, f"{url}&term=p1")
    assert not [sql for sql in asked if "COUNT(" in sql]
    answer = as_operator.get(f"{url}&term=p1").json()
    assert [entry["text"] for entry in answer["results"]] == [email for email in crowd if email.startswith("p1")][:20]
    assert as_operator.get(f"{url}&term=&page=99999999999").status_code == 404
    assert as_operator.get(f"{url}&term=&page=x").status_code == 404


def test_lists_work_after_people_are_deleted(as_operator: Browser, world: World) -> None:
    Connection.objects.update(account=None, subject=None)
    AuditEvent.objects.update(actor=None, actor_email="")
    Project.objects.update(deleted_at=clock.now())
    for path in ("oidc/connection", "console/auditevent", "oidc/project", "oidc/client"):
        assert as_operator.get(f"/admin/{path}/").status_code == 200


def test_a_call_with_an_unknown_credential_is_found_by_its_request_id(as_operator: Browser, world: World) -> None:
    response = call(ME, "an-old-token")
    call(ME, "another-one")
    usage_counts.flush_usage()
    page = as_operator.get("/admin/api/requestlog/", {"q": response["X-Request-ID"]})
    (row,) = page.context["cl"].result_list
    assert (row.project, row.status, row.code) == (None, 401, "invalid_token")
    assert "an-old-token" not in page.content.decode()
    assert as_operator.get(f"/admin/api/requestlog/{row.pk}/change/").status_code == 200


@pytest.mark.parametrize(("path", "found"), [("oidc/client", 0), ("oidc/projectdomain", 0), ("oidc/project", 1)])
def test_reviewers_find_developers_only_where_conflicts_are_left_out(
    as_reviewer: Browser, world: World, path: str, found: int
) -> None:
    listed = as_reviewer.get(f"/admin/{path}/", {"q": world.person.email}).context["cl"].result_list
    assert len(listed) == found
    world.project.members.create(account=Account.objects.get(email="rena@example.com"), role="viewer")
    assert not as_reviewer.get(f"/admin/{path}/", {"q": world.person.email}).context["cl"].result_list


def test_the_page_of_a_project_says_if_it_does_not_list_all_members(as_operator: Browser, world: World) -> None:
    url = f"/admin/oidc/project/{world.project.pk}/change/"
    for _ in range(49):
        world.project.members.create(account=make_account(), role="viewer")
    assert world.project.members.count() == 50
    assert "and more" not in as_operator.get(url).content.decode()
    world.project.members.create(account=make_account(), role="viewer")
    assert "and more; these are the first 50" in as_operator.get(url).content.decode()


@pytest.mark.parametrize(("model", "name"), [("oidc/client", "Apps"), ("accounts/outbox", "Emails")])
def test_title_and_sidebar_give_a_list_one_name(as_operator: Browser, world: World, model: str, name: str) -> None:
    text = as_operator.get(f"/admin/{model}/").content.decode()
    title = re.search(r"<title>([^<]*)", text)
    assert title is not None
    assert f" {name.lower().removesuffix('s')} " in title[1]
    assert len(re.findall(rf">\s*{name}\s*<", text)) >= 2, "sidebar and breadcrumbs"


@pytest.mark.parametrize("model", ["oidc/connection", "oidc/eventreceiver", "oidc/delivery", "console/signinevent"])
def test_apps_have_one_name_in_columns(as_operator: Browser, world: World, model: str) -> None:
    text = as_operator.get(f"/admin/{model}/").content.decode()
    assert re.search(r'data-label="app"|column-client[^>]*>(\s|<[^>]+>)*app\b', text, re.IGNORECASE)
    assert not re.search(r">\s*client\s*<", text, re.IGNORECASE)
