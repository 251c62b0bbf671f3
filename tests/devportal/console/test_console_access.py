"""Who stays outside of the console, at every page and form of it; tests/security/test_crawl.py has who may what."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client as Browser
from django.urls import URLPattern, URLResolver, reverse

from accounts.models import Account
from devportal.console.models import Notice
from devportal.console.urls import console_urls
from devportal.review import urls
from devportal.review.submission import developer_actions
from oidc.models import Project, ProjectMember
from oidc.projects import invitations
from tests.factories import (
    make_account,
    make_delivery,
    make_domain,
    make_key,
    make_project,
    make_receiver,
    make_web_client,
)


def routes(patterns: "list[URLPattern | URLResolver]", outer: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str]]]:
    """Yield each route's name and the names of its arguments."""
    for pattern in patterns:
        arguments = (*outer, *pattern.pattern.converters)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, arguments)
        else:
            yield pattern.name or repr(pattern.pattern), list(arguments)


ROUTES = dict(routes(console_urls(urls.project_pages, urls.client_pages)[0]))


def things_of(project: Project, owner: Account) -> dict[str, Any]:
    """Return something of a project for every argument that a route may have."""
    client, _ = make_web_client(project)
    key, _ = make_key(project, owner)
    return {
        "project_id": project.public_id,
        "client_id": client.client_id,
        "secret_id": client.secrets.get().pk,
        "key_id": key.public_id,
        "domain_id": make_domain(project, method="", proven_at=None).pk,
        "member_id": ProjectMember.objects.get(project=project, account=owner).pk,
        "number": developer_actions.save_submission(client, owner, {}).number,
        "version": "none",
        "entry_id": 1,
        "channel": "logout",
        "delivery_id": make_delivery(make_receiver(client, "logout"), event="logout").pk,
        "notice_id": Notice.objects.filter(project=project, account=owner).latest("pk").pk,
        "invitation_id": invitations.invite(project, "ines@example.com", "viewer", owner).pk,
    }


def status(browser: Browser, name: str, method: str, things: dict[str, Any]) -> int:
    """Return the status of a request; what it changed is undone."""
    url = reverse(f"console:{name}", kwargs={argument: things[argument] for argument in ROUTES[name]})
    with transaction.atomic():
        found: int = getattr(browser, method)(url).status_code
        transaction.set_rollback(True)
    return found


@pytest.mark.parametrize("method", ["get", "post"])
def test_people_without_a_verified_email_address_have_no_access(method: str, project: Project) -> None:
    unproven = make_account("una@example.com", verified=False)
    ProjectMember.objects.create(project=project, account=unproven, role=ProjectMember.Role.OWNER)
    browser = Browser()
    browser.force_login(unproven)
    things = things_of(project, unproven)
    found = {name: status(browser, name, method, things) for name in ROUTES}
    # 405: the page has no such method, for nobody.
    assert {name: code for name, code in found.items() if code not in (302, 405)} == {}
    assert 302 in found.values()
    assert browser.get("/account/").status_code == 200, "still signed in, so that none of them asked for that"


@pytest.mark.parametrize("method", ["get", "post"])
def test_objects_of_other_projects_are_not_found(method: str, as_owner: Browser, project: Project) -> None:
    other_owner = make_account()
    other = make_project(other_owner, name="Elsewhere")
    things = things_of(other, other_owner) | {"project_id": project.public_id}
    found = {name: status(as_owner, name, method, things) for name, arguments in ROUTES.items() if len(arguments) > 1}
    # Old URLs of a project only check the project (devportal/console/moved.py); the new page checks the rest.
    moved = {name for name, code in found.items() if name.startswith("moved_project_") and code == 301}
    # 405: the method is refused before anything is looked for.
    assert {name: code for name, code in found.items() if code not in (404, 405) and name not in moved} == {}
    assert 404 in found.values()
