"""A project with a person of every role, someone from outside, and a browser for each."""

from collections.abc import Callable

import pytest
from django.test import Client as Browser

from accounts.models import Account
from oidc.models import Client, Project, ProjectMember
from tests.devportal.review.reviewing import make_reviewer
from tests.factories import make_account, make_client, make_domain, make_project

Role = ProjectMember.Role


@pytest.fixture
def owner(db: None) -> Account:
    return make_account("olga@example.com")


@pytest.fixture
def developer(db: None) -> Account:
    return make_account("dan@example.com")


@pytest.fixture
def viewer(db: None) -> Account:
    return make_account("vera@example.com")


@pytest.fixture
def outsider(db: None) -> Account:
    """Owns a project, so that the console knows them."""
    account = make_account("otto@example.com")
    make_project(account, name="Elsewhere")
    return account


@pytest.fixture
def project(owner: Account, developer: Account, viewer: Account) -> Project:
    project = make_project(owner)
    ProjectMember.objects.create(project=project, account=developer, role=Role.DEVELOPER)
    ProjectMember.objects.create(project=project, account=viewer, role=Role.VIEWER)
    return project


@pytest.fixture
def browser_of() -> Callable[[Account], Browser]:
    """Return a browser in which someone is signed in."""

    def sign_in(account: Account) -> Browser:
        browser = Browser()
        browser.force_login(account)
        return browser

    return sign_in


@pytest.fixture
def as_owner(owner: Account, project: Project, browser_of: Callable[[Account], Browser]) -> Browser:
    return browser_of(owner)


@pytest.fixture
def as_developer(developer: Account, project: Project, browser_of: Callable[[Account], Browser]) -> Browser:
    return browser_of(developer)


@pytest.fixture
def as_viewer(viewer: Account, project: Project, browser_of: Callable[[Account], Browser]) -> Browser:
    return browser_of(viewer)


@pytest.fixture
def as_outsider(outsider: Account, browser_of: Callable[[Account], Browser]) -> Browser:
    return browser_of(outsider)


@pytest.fixture
def app(project: Project) -> Client:
    """A new browser app of a project that has proven its domain."""
    make_domain(project)
    return make_client(project, name="Orbit")


@pytest.fixture
def reviewer(db: None) -> Account:
    return make_reviewer("rita@example.com")


@pytest.fixture
def as_reviewer(reviewer: Account, browser_of: Callable[[Account], Browser]) -> Browser:
    return browser_of(reviewer)
