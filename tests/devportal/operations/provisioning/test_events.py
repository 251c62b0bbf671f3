"""Where clients receive events, in provisioned files."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from accounts.models import Account
from devportal.console.models import AuditEvent
from oidc.models import Client, EventReceiver
from oidc.values.event_types import EventType
from tests.devportal.operations.provisioning.test_provision import FILE, provision

pytestmark = pytest.mark.django_db

LOGOUT, EVENTS = EventReceiver.Channel.LOGOUT, EventReceiver.Channel.EVENTS
PUBLIC = 'redirect_uris = ["https://app.orbit.example/callback"]'


def client_with(*lines: str) -> str:
    """Return FILE, with these lines in the table of its first client."""
    return FILE.replace('type = "web"', "\n".join(['type = "web"', *lines]))


def receiver(channel: str) -> EventReceiver:
    return EventReceiver.objects.get(client__name="Web", channel=channel)


def test_a_file_says_where_a_client_receives_events(tmp_path: Path) -> None:
    provision(
        tmp_path,
        client_with(
            'backchannel_logout_uri = "http://localhost:3000/logout"',
            "backchannel_logout_session_required = true",
            'events_url = "http://localhost:3000/events"',
            f'events = ["account-purged", "{EventType.TOKENS_REVOKED.uri}"]',
        ),
    )
    assert (receiver(LOGOUT).url, receiver(LOGOUT).session_required) == ("http://localhost:3000/logout", True)
    assert receiver(EVENTS).url == "http://localhost:3000/events"
    assert receiver(EVENTS).wanted_types == [EventType.ACCOUNT_PURGED, EventType.TOKENS_REVOKED]


def test_the_defaults_are_all_events_with_or_without_a_session(tmp_path: Path) -> None:
    provision(tmp_path, FILE)
    assert not EventReceiver.objects.exists()
    urls = 'backchannel_logout_uri = "http://localhost:3000/a"', 'events_url = "http://localhost:3000/b"'
    result = provision(tmp_path, client_with(*urls))
    assert receiver(LOGOUT).session_required is False
    assert receiver(EVENTS).wanted_types == EventType.choosable()
    keys = "client_id", "client_secret", "name", "type", "redirect_uris", "post_logout_redirect_uris"
    assert tuple(result["projects"][0]["clients"][0]) == keys


def test_a_missing_key_changes_nothing_and_empty_values_are_the_defaults(tmp_path: Path) -> None:
    provision(
        tmp_path,
        client_with(
            'backchannel_logout_uri = "http://localhost:3000/logout"',
            "backchannel_logout_session_required = true",
            'events_url = "http://localhost:3000/events"',
            'events = ["account-purged"]',
        ),
    )
    changes = AuditEvent.objects.filter(action="client.events_changed").count()
    provision(tmp_path, FILE)
    provision(tmp_path, client_with("backchannel_logout_session_required = true", 'events = ["account-purged"]'))
    assert receiver(LOGOUT).session_required
    assert receiver(EVENTS).wanted_types == [EventType.ACCOUNT_PURGED]
    assert AuditEvent.objects.filter(action="client.events_changed").count() == changes == 2
    provision(tmp_path, client_with('backchannel_logout_uri = ""', "events = []"))
    assert (receiver(LOGOUT).url, receiver(LOGOUT).session_required) == ("", True)
    assert receiver(EVENTS).url == "http://localhost:3000/events"
    assert receiver(EVENTS).wanted_types == EventType.choosable()


def test_the_url_may_be_on_a_host_or_a_domain_that_the_same_file_declares(tmp_path: Path) -> None:
    local = 'redirect_uris = ["http://localhost:3000/callback"]'
    url = 'events_url = "https://app.orbit.example/events"'
    with pytest.raises(CommandError, match=r"clients\[0\]\.events_url: app\.orbit\.example is neither"):
        provision(tmp_path, client_with(url))
    provision(tmp_path, client_with(url).replace(local, PUBLIC))
    assert receiver(EVENTS).url == "https://app.orbit.example/events"
    Client.objects.all().delete()
    provision(tmp_path, client_with(url).replace('owner = "dana', 'domains = ["orbit.example"]\nowner = "dana'))
    assert receiver(EVENTS).url == "https://app.orbit.example/events"


def test_a_file_that_does_not_name_the_url_may_move_the_app_to_another_host(tmp_path: Path) -> None:
    provision(tmp_path, client_with('events_url = "http://localhost:3000/events"'))
    provision(tmp_path, FILE.replace("http://localhost:3000/callback", "https://app.orbit.example/callback"))
    assert receiver(EVENTS).url == "http://localhost:3000/events"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('backchannel_logout_uri = "https://other.example/"', "backchannel_logout_uri: other.example is neither"),
        ('backchannel_logout_uri = "http://localhost:8000/x"', "backchannel_logout_uri: This URL belongs to the"),
        ("backchannel_logout_uri = 7", "backchannel_logout_uri: must be a text"),
        ('backchannel_logout_session_required = "yes"', "backchannel_logout_session_required: must be true or false"),
        ('events_url = "http://10.0.0.1/"', "events_url: http is allowed only"),
        ('events = "account-purged"', "events: must be a list"),
        ('events = ["account-purged", "nonsense"]', "events[1]: nonsense is not an event type"),
        ('events = ["logout"]', "events[0]: logout is not an event type"),
        (f'events = ["account-purged", "{EventType.ACCOUNT_PURGED.uri}"]', "events: names something twice"),
    ],
)
def test_a_bad_value_is_refused_by_key_and_changes_nothing(tmp_path: Path, line: str, error: str) -> None:
    with pytest.raises(CommandError) as refused:
        provision(tmp_path, client_with(line))
    assert f"projects[0].clients[0].{error}" in str(refused.value)
    assert not Account.objects.exists()
    assert not Client.objects.exists()


def test_every_url_that_is_not_allowed_is_listed(tmp_path: Path) -> None:
    bad = 'backchannel_logout_uri = "https://a.example/"', 'events_url = "https://b.example/"'
    text = client_with(*bad).replace('type = "spa"', 'type = "spa"\nevents_url = "https://c.example/"')
    with pytest.raises(CommandError) as refused:
        provision(tmp_path, text)
    for key in ("clients[0].backchannel_logout_uri", "clients[0].events_url", "clients[1].events_url"):
        assert f"projects[0].{key}: " in str(refused.value)


def test_verified_apps_receive_nothing_on_this_machine(tmp_path: Path, settings: Any) -> None:
    url = 'events_url = "http://localhost:3000/events"'
    with pytest.raises(CommandError, match="events_url: Events of a reviewed app can’t be sent to this machine"):
        provision(tmp_path, client_with(url, "verified = true"))
    settings.EMBEDDED = False
    with pytest.raises(CommandError, match="events_url: Events can’t be sent to this machine"):
        provision(tmp_path, client_with(url))
