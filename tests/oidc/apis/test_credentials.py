"""Credentials of an API: several at once, rotation with an overlap, revocation, and what the audit trail has."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.dispatch import receiver

from accounts.models import Account
from core import clock
from core.audit import Event, happened
from core.credentials import digest
from oidc.apis import credentials
from oidc.credential_rotation import CredentialEnded
from oidc.models import Api, ApiCredential
from tests.factories import make_account, make_api

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> Api:
    return make_api()


@pytest.fixture
def actor() -> Account:
    return make_account("opal@example.com")


@pytest.fixture
def events() -> Iterator[list[Event]]:
    """What was reported of credentials."""
    found: list[Event] = []

    @receiver(happened)
    def note(sender: Any, event: Event, **kwargs: Any) -> None:
        if event.action.startswith("api_credential."):
            found.append(event)

    yield found
    happened.disconnect(note)


def live(api: Api) -> set[str]:
    return set(ApiCredential.objects.live().filter(api=api).values_list("public_id", flat=True))


def test_only_the_hash_of_a_secret_is_stored(api: Api, actor: Account, events: list[Event]) -> None:
    row, raw = credentials.create_credential(api, actor)
    assert row.digest == digest(raw)
    assert raw not in str(ApiCredential.objects.values_list().get())
    (event,) = events
    assert (event.action, event.actor, event.target) == ("api_credential.created", actor.pk, row.public_id)
    assert event.after == {"api": "calendar", "last_four": raw[-4:]}
    assert raw not in str(event)


def test_several_are_live_at_once_up_to_a_limit(api: Api) -> None:
    rows = [credentials.create_credential(api)[0] for _ in range(credentials.MAX_LIVE_CREDENTIALS)]
    assert live(api) == {row.public_id for row in rows}
    with pytest.raises(credentials.TooManyCredentials):
        credentials.create_credential(api)
    credentials.create_credential(make_api("tasks"))
    credentials.revoke_credential(rows[0])
    credentials.create_credential(api)


def test_a_rotated_credential_works_until_its_end(
    api: Api, actor: Account, events: list[Event], later: Callable[[float], None]
) -> None:
    old, _ = credentials.create_credential(api)
    new, raw = credentials.rotate_credential(old, clock.now() + timedelta(hours=1), actor)
    assert live(api) == {old.public_id, new.public_id}
    assert new.digest == digest(raw)
    assert (events[-1].action, events[-1].target) == ("api_credential.rotated", old.public_id)
    assert events[-1].after["replaced_by"] == new.public_id
    later(3601)
    assert live(api) == {new.public_id}
    old.refresh_from_db()
    assert (old.state, new.state) == ("expired", "live")
    with pytest.raises(CredentialEnded):
        credentials.rotate_credential(old, clock.now())


def test_rotation_without_an_overlap_revokes_the_old_one(api: Api) -> None:
    old, _ = credentials.create_credential(api)
    new, _ = credentials.rotate_credential(old, clock.now())
    assert live(api) == {new.public_id}
    old.refresh_from_db()
    assert old.state == "revoked"


def test_an_overlap_of_more_than_thirty_days_is_refused(api: Api) -> None:
    old, _ = credentials.create_credential(api)
    with pytest.raises(ValueError, match="too far ahead"):
        credentials.rotate_credential(old, clock.now() + timedelta(days=31))
    assert live(api) == {old.public_id}


def test_a_revoked_credential_stays_revoked(api: Api, actor: Account, events: list[Event]) -> None:
    row, _ = credentials.create_credential(api)
    assert credentials.revoke_credential(row, actor)
    assert not credentials.revoke_credential(row, actor)
    assert [event.action for event in events] == ["api_credential.created", "api_credential.revoked"]
    with pytest.raises(CredentialEnded):
        credentials.rotate_credential(row, clock.now())


def test_replacing_revokes_all_others(api: Api) -> None:
    for _ in range(credentials.MAX_LIVE_CREDENTIALS):
        credentials.create_credential(api)
    row, _ = credentials.replace_credentials(api)
    assert live(api) == {row.public_id}
