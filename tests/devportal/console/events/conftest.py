import pytest

from oidc.models import Client, EventReceiver, Project
from tests.factories import make_client, make_receiver


@pytest.fixture
def app(project: Project) -> Client:
    return make_client(project)


@pytest.fixture
def receiver(app: Client) -> EventReceiver:
    """The receiver of security events of `app`."""
    return make_receiver(app)
