"""A domain of the project that nobody has proven, and an internet that tests fill."""

import pytest

from core import clock
from oidc.models import Project, ProjectDomain
from tests.oidc.domains.internet import internet

__all__ = ["internet"]


@pytest.fixture
def domain(project: Project) -> ProjectDomain:
    return ProjectDomain.objects.create(project=project, name="example.com", added_at=clock.now())
