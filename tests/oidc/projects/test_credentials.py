"""Client secrets, credentials of APIs and API keys: rotation with an overlap, expiry, revocation, and audit events."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from accounts.models import Account
from core import clock
from core.audit import Event
from core.credentials import digest
from oidc.projects.credentials import CredentialEnded
from tests.credentials import Kind, each_kind, make_credential
from tests.factories import make_account

pytestmark = [pytest.mark.django_db, each_kind]

# What audit events say of a new credential.
SHOWN: dict[str, dict[str, Any]] = {
    "client_secret": {"last_four": "…"},
    "api_credential": {"api": "calendar", "last_four": "…"},
    "api_key": {"name": "A script", "permissions": ["account.read"], "expires_at": None},
}


@pytest.fixture
def actor() -> Account:
    return make_account("opal@example.com")


def live(kind: Kind) -> list[Any]:
    return list(kind.model._default_manager.all().live().order_by("pk"))


def shown(kind: Kind, row: Any, **more: Any) -> dict[str, Any]:
    values = SHOWN[kind.name] | more
    return values | {"last_four": row.last_four} if "last_four" in values else values


def target(row: Any) -> str:
    return str(row.client.client_id if hasattr(row, "client") else row.public_id)


def test_only_the_hash_of_the_value_is_stored(kind: Kind, events: list[Event]) -> None:
    row, raw = make_credential(kind)
    assert row.digest == digest(raw)
    assert raw not in str(kind.model._default_manager.values_list().get())
    (event,) = [each for each in events if each.action.startswith(f"{kind.name}.")]
    assert (event.action, event.target, event.after) == (f"{kind.name}.created", target(row), shown(kind, row))
    assert raw not in str(event)


def test_a_rotated_credential_works_until_its_end(
    kind: Kind, actor: Account, events: list[Event], later: Callable[[float], None]
) -> None:
    old, _ = make_credential(kind)
    end = clock.now() + timedelta(hours=1)
    new, raw = kind.rotate(old, end, actor)
    assert live(kind) == [old, new]
    assert new.digest == digest(raw)
    event, replaced_by = events[-1], {"replaced_by": target(new)} if hasattr(new, "public_id") else {}
    assert (event.action, event.actor, event.target) == (f"{kind.name}.rotated", actor.pk, target(old))
    assert event.before == shown(kind, old)
    assert event.after == shown(kind, new) | replaced_by | {"old_expires_at": end.isoformat()}
    later(3601)
    assert live(kind) == [new]
    old.refresh_from_db()
    assert (old.state, new.state) == ("expired", "live")
    with pytest.raises(CredentialEnded):
        kind.rotate(old, clock.now())


def test_an_earlier_expiry_stays(kind: Kind) -> None:
    old, _ = make_credential(kind)
    first = clock.now() + timedelta(hours=1)
    kind.set_expiry(old, first)
    kind.rotate(old, clock.now() + timedelta(days=1))
    old.refresh_from_db()
    assert old.expires_at == first


def test_rotation_without_an_overlap_revokes_the_old_one(kind: Kind) -> None:
    old, _ = make_credential(kind)
    new, _ = kind.rotate(old, clock.now())
    assert live(kind) == [new]
    old.refresh_from_db()
    assert old.state == "revoked"


def test_an_overlap_of_more_than_thirty_days_is_refused(kind: Kind) -> None:
    old, _ = make_credential(kind)
    with pytest.raises(ValueError, match="too far ahead"):
        kind.rotate(old, clock.now() + timedelta(days=31))
    with pytest.raises(ValueError, match="too far ahead"):
        kind.set_expiry(old, clock.now() + kind.max_life + timedelta(minutes=1))
    assert live(kind) == [old]
    assert live(kind)[0].expires_at is None


def test_an_expiry_is_set_and_removed(kind: Kind, actor: Account, events: list[Event]) -> None:
    row, _ = make_credential(kind)
    end = clock.now() + timedelta(days=1)
    for moment in (end, end, None):
        kind.set_expiry(row, moment, actor)
    moved, removed = events[-2:]
    without, ending = (shown(kind, row, expires_at=moment) for moment in (None, end.isoformat()))
    assert (moved.action, moved.actor, moved.target) == (f"{kind.name}.expiry_changed", actor.pk, target(row))
    assert (moved.before, moved.after) == (without, ending)
    assert (removed.before, removed.after) == (ending, without)


def test_a_revoked_credential_stays_revoked(
    kind: Kind, actor: Account, events: list[Event], later: Callable[[float], None]
) -> None:
    row, _ = make_credential(kind)
    assert kind.revoke(row, actor)
    first = kind.model._default_manager.get().revoked_at
    later(60)
    assert not kind.revoke(row, actor)
    assert kind.model._default_manager.get().revoked_at == first
    event = events[-1]
    assert [each.action for each in events].count(event.action) == 1
    assert event.action == f"{kind.name}.{'ended' if kind.name == 'client_secret' else 'revoked'}"
    assert (event.actor, event.target, event.before) == (actor.pk, target(row), shown(kind, row))
    with pytest.raises(CredentialEnded):
        kind.rotate(row, clock.now())
    with pytest.raises(CredentialEnded):
        kind.set_expiry(row, None)
