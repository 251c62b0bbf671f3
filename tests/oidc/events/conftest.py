from collections.abc import Iterator

import pytest

from accounts.models import Account
from oidc.events import registration
from oidc.models import EventReceiver, ProjectMember
from tests import inbox
from tests.inbox import Inbox
from tests.relying_party import RelyingParty


@pytest.fixture
def app_inbox() -> Iterator[Inbox]:
    """An inbox where an app receives its events."""
    with inbox.serve() as served:
        yield served


@pytest.fixture
def listening(app: RelyingParty, app_inbox: Inbox, person: Account) -> RelyingParty:
    """An app that receives logout tokens and all security events in `app_inbox`. The person is one of its testers."""
    ProjectMember.objects.create(project=app.client.project, account=person, role="viewer")
    registration.change_logout_receiver(app.client, None, url=app_inbox.url("/logout"), session_required=True)
    registration.change_event_receiver(app.client, None, url=app_inbox.url(), types=[])
    return app


@pytest.fixture
def event_receiver(listening: RelyingParty) -> EventReceiver:
    """The receiver of security events of `listening`."""
    return EventReceiver.objects.get(client=listening.client, channel=EventReceiver.Channel.EVENTS)
