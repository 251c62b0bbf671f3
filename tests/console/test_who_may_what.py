"""Every page and form of the console, by every kind of person: a route without a row in this table fails."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction
from django.test import Client as Browser
from django.urls import URLPattern, URLResolver, reverse

from accounts.models import Account
from devportal.console import reviews, urls
from oidc import invitations
from oidc.models import Project, ProjectMember
from tests.factories import make_account, make_key, make_project, make_web_client

WHO = ("anonymous", "outsider", "viewer", "developer", "owner")


@dataclass(frozen=True)
class Row:
    """The statuses that GET and an empty POST get, for WHO in that order."""

    get: str
    post: str


def reading(post: str = "302 405 405 405 405") -> Row:
    """Return the row of a page that every member may read."""
    return Row("302 404 200 200 200", post)


def writing(post: str, get: str = "302 404 403 200 200") -> Row:
    """Return the row of a page that developers and owners have."""
    return Row(get, post)


def owning(post: str, get: str = "302 404 403 403 200") -> Row:
    """Return the row of a page that owners alone have."""
    return Row(get, post)


# Somebody who is not signed in is sent to sign in; so is, to their address, who has not proven it.

TABLE: dict[str, Row] = {
    # Home and projects
    "home": Row("302 200 200 200 200", "302 405 405 405 405"),
    "project_new": Row("302 200 200 200 200", "302 200 200 200 200"),
    # To somebody else's invitation everybody gets the same as to none.
    "invitation": Row("302 405 405 405 405", "302 302 302 302 302"),
    "project": reading(),
    "project_settings": reading("302 404 403 403 200"),
    "project_transfer": owning("302 404 403 403 200"),
    # The only owner is sent back, to hand the project over first.
    "project_leave": reading("302 404 302 302 302"),
    "project_delete": owning("302 404 403 403 200"),
    "project_restore": owning("302 404 403 403 302", get="302 405 405 405 405"),
    "members": reading("302 404 403 403 200"),
    "member": owning("302 404 403 403 200"),
    "member_remove": owning("302 404 403 403 302", get="302 405 405 405 405"),
    "invitation_renew": owning("302 404 403 403 302", get="302 405 405 405 405"),
    "invitation_withdraw": owning("302 404 403 403 302", get="302 405 405 405 405"),
    "activity": reading(),
    "people": reading(),
    #
    # Clients
    "clients": reading(),
    "client_new": writing("302 404 403 200 200"),
    "client_settings": reading("302 404 403 200 200"),
    "client_tester": reading("302 404 200 200 200"),
    "client_switch": writing("302 404 403 302 302", get="302 405 405 405 405"),
    "client_type": writing("302 404 403 200 200"),
    "client_delete": writing("302 404 403 200 200"),
    "client_secrets": reading(),
    "client_secret_new": writing("302 404 403 302 302", get="302 405 405 405 405"),
    "client_secret_end": writing("302 404 403 200 200"),
    # Asked while somebody types; it tells nothing of any project.
    "check_name": Row("302 405 405 405 405", "302 200 200 200 200"),
    "check_addresses": Row("302 405 405 405 405", "302 200 200 200 200"),
    #
    # Keys
    "keys": reading(),
    "key_new": writing("302 404 403 200 200"),
    # The owner's own key: a developer revokes their own, an owner any.
    "key_revoke": Row("302 404 403 403 200", "302 404 403 403 302"),
    #
    # Usage and logs
    "usage": reading(),
    "usage_csv": reading(),
    "requests": reading(),
    "sign_ins": reading(),
    #
    # Quick start and playground
    "quick_start": reading(),
    "playground": Row("302 404 403 200 200", "302 405 405 405 405"),
    "playground_address": Row("302 405 405 405 405", "302 404 403 302 302"),
    "playground_begin": Row("302 405 405 405 405", "302 404 403 302 302"),
    "playground_exchange": Row("302 405 405 405 405", "302 404 403 302 302"),
    "playground_end": Row("302 405 405 405 405", "302 404 403 302 302"),
    # It sends nobody to sign in: its address holds a code.
    "playground_callback": Row("400 400 400 400 400", "405 405 405 405 405"),
    #
    # Branding and review
    "review": reading("302 404 403 302 302"),
    "review_preview": reading(),
    # Members and reviewers find the logos that there are (test_review.py); this is none.
    "review_logo": Row("302 404 404 404 404", "302 405 405 405 405"),
}


def routes(patterns: "list[URLPattern | URLResolver]", outer: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str]]]:
    """Yield each route's name and the names of its arguments."""
    for pattern in patterns:
        arguments = (*outer, *pattern.pattern.converters)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, arguments)
        else:
            yield pattern.name or repr(pattern.pattern), list(arguments)


ROUTES = dict(routes(urls.urlpatterns))


def things_of(project: Project, owner: Account) -> dict[str, Any]:
    """Return something of a project for every argument that a route may have."""
    client, _ = make_web_client(project)
    key, _ = make_key(project, owner)
    return {
        "project_id": project.public_id,
        "client_id": client.client_id,
        "secret_id": client.secrets.get().pk,
        "key_id": key.public_id,
        "member_id": ProjectMember.objects.get(project=project, account=owner).pk,
        "number": reviews.save_branding(client, owner, {}).number,
        "version": "none",
        "invitation_id": invitations.invite(project, "ines@example.com", "viewer", owner).pk,
    }


def status(browser: Browser, name: str, method: str, things: dict[str, Any]) -> int:
    """Return the status of a request; what it changed is undone."""
    url = reverse(f"console:{name}", kwargs={argument: things[argument] for argument in ROUTES[name]})
    with transaction.atomic():
        found: int = getattr(browser, method)(url).status_code
        transaction.set_rollback(True)
    return found


@pytest.fixture
def browsers(as_outsider: Browser, as_viewer: Browser, as_developer: Browser, as_owner: Browser) -> dict[str, Browser]:
    everybody = (Browser(), as_outsider, as_viewer, as_developer, as_owner)
    return dict(zip(WHO, everybody, strict=True))


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    assert set(ROUTES) == set(TABLE)


@pytest.mark.parametrize("name", ROUTES)
def test_who_may_what(name: str, browsers: dict[str, Browser], project: Project, owner: Account) -> None:
    things = things_of(project, owner)
    for method, expected in (("get", TABLE[name].get), ("post", TABLE[name].post)):
        found = {who: status(browser, name, method, things) for who, browser in browsers.items()}
        assert found == dict(zip(WHO, map(int, expected.split()), strict=True)), method.upper()


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.parametrize("method", ["get", "post"])
def test_nobody_comes_in_whose_address_is_not_proven(name: str, method: str, project: Project) -> None:
    unproven = make_account("una@example.com", verified=False)
    ProjectMember.objects.create(project=project, account=unproven, role=ProjectMember.Role.OWNER)
    browser = Browser()
    browser.force_login(unproven)
    # 405: the page has no such method, for nobody.
    assert status(browser, name, method, things_of(project, unproven)) in (302, 405)


@pytest.mark.parametrize("name", [name for name, arguments in ROUTES.items() if len(arguments) > 1])
@pytest.mark.parametrize("method", ["get", "post"])
def test_another_projects_things_are_not_reached_through_ones_own(
    name: str, method: str, as_owner: Browser, project: Project
) -> None:
    other_owner = make_account()
    other = make_project(other_owner, name="Elsewhere")
    things = things_of(other, other_owner) | {"project_id": project.public_id}
    # 405: the method is refused before anything is looked for.
    assert status(as_owner, name, method, things) in (404, 405)
