"""A project with an owner and a developer, a domain that nobody has proven, and an internet that tests fill."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounts.models import Account
from core import clock
from oidc.domains.results import Change
from oidc.models import Project, ProjectDomain, ProjectMember
from oidc.signals import domain_changed
from tests.factories import make_account, make_project
from tests.oidc.domains.internet import internet

__all__ = ["internet"]


@pytest.fixture
def owner(db: None) -> Account:
    return make_account("olga@example.com")


@pytest.fixture
def project(owner: Account) -> Project:
    return make_project(owner)


@pytest.fixture
def developer(project: Project) -> Account:
    account = make_account("dan@example.com")
    ProjectMember.objects.create(project=project, account=account, role=ProjectMember.Role.DEVELOPER)
    return account


@pytest.fixture
def domain(project: Project) -> ProjectDomain:
    return ProjectDomain.objects.create(project=project, name="example.com", added_at=clock.now())


@pytest.fixture
def told() -> Iterator[list[Change]]:
    """The changes that were announced, in their order."""
    changes: list[Change] = []

    def note(sender: Any, change: Change, **kwargs: Any) -> None:
        changes.append(change)

    domain_changed.connect(note)
    yield changes
    domain_changed.disconnect(note)


@pytest.fixture(autouse=True)
def moving_clock(later: Callable[[float], None]) -> Callable[[float], None]:
    """Let all times in a test come from the clock that `later` moves."""
    return later
