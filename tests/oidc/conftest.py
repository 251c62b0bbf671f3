"""Fixtures that several folders of these tests use."""

from collections.abc import Iterator

import pytest

from accounts.models import Account
from core.audit import Event, happened
from oidc.models import ProjectMember
from tests.relying_party import RelyingParty


@pytest.fixture
def events() -> Iterator[list[Event]]:
    """The audit events that were reported."""
    found: list[Event] = []

    def note(sender: object, event: Event, **kwargs: object) -> None:
        found.append(event)

    happened.connect(note)
    yield found
    happened.disconnect(note)


@pytest.fixture
def member(app: RelyingParty) -> Account:
    """The person of the browser, who is a developer of the app's project."""
    account = Account.objects.get(pk=app.browser.session["_auth_user_id"])
    ProjectMember.objects.get_or_create(account=account, project=app.client.project, defaults={"role": "developer"})
    return account
