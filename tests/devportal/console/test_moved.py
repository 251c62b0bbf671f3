"""Old URLs of the console; tests/security/test_crawl.py has who may follow them."""

from typing import Any

import pytest
from django.test import Client as Browser

from oidc.models import Project
from tests.devportal.console.forms import at
from tests.factories import make_client


@pytest.mark.parametrize(
    ("old", "page", "query"),
    [
        ("usage?range=7d", "usage", "?range=7d"),
        ("usage.csv?range=7d", "usage", "?range=7d&format=csv"),
        ("sign-in-log?q=a%20b", "project_sign_ins", "?q=a+b"),
        ("requests?status=errors&q=%C3%A4", "requests", "?status=errors&q=%C3%A4"),
        ("sign-ins.csv?table=apis", "project_analytics", "?table=apis&format=csv"),
        ("people", "people", ""),
        ("members", "members", ""),
        ("activity", "activity", ""),
    ],
)
def test_an_old_url_redirects_with_its_query(
    old: str, page: str, query: str, as_viewer: Browser, project: Project
) -> None:
    response = as_viewer.get(f"/console/p/{project.public_id}/{old}")
    assert (response.status_code, response["Location"]) == (301, at(page, project) + query)
    assert as_viewer.get(response["Location"]).status_code == 200


def test_a_query_that_is_too_long_for_a_redirect_is_dropped(as_viewer: Browser, project: Project) -> None:
    old = f"/console/p/{project.public_id}/usage.csv?range=7d&endpoint="
    assert as_viewer.get(old + "a" * 3900)["Location"].endswith("a&format=csv")
    response = as_viewer.get(old + "a" * 20_000)
    assert (response.status_code, response["Location"]) == (301, f"{at('usage', project)}?format=csv")


def test_a_redirect_does_not_render_the_new_page(
    as_viewer: Browser, project: Project, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(6):  # the session, the account and the membership
        assert as_viewer.get(f"/console/p/{project.public_id}/usage").status_code == 301


def test_old_urls_of_an_app_redirect(as_viewer: Browser, project: Project) -> None:
    client = make_client(project)
    for old, page in (("sign-ins", "sign_ins"), ("analytics", "client_analytics")):
        response = as_viewer.get(f"/console/p/{project.public_id}/clients/{client.client_id}/{old}")
        assert (response.status_code, response["Location"]) == (301, at(page, project, client))


@pytest.mark.parametrize(
    ("old", "page"),
    [
        ("permissions", "client_settings#scopes"),
        ("secrets", "client_settings#secrets"),
        ("tester", "playground#tester"),
    ],
)
def test_pages_that_became_sections_redirect_to_them(old: str, page: str, as_viewer: Browser, project: Project) -> None:
    client, (name, _, section) = make_client(project), page.partition("#")
    response = as_viewer.get(f"/console/p/{project.public_id}/clients/{client.client_id}/{old}")
    assert (response.status_code, response["Location"]) == (301, f"{at(name, project, client)}#{section}")
    assert f'id="{section}"' in as_viewer.get(response["Location"]).content.decode()


def test_an_old_url_takes_no_forms(as_owner: Browser, project: Project) -> None:
    assert as_owner.post(f"/console/p/{project.public_id}/members", {"email": "a@example.com"}).status_code == 405
