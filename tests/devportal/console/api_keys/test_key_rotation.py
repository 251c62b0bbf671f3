"""Rotation of API keys: a new one of the same kind, and an end for the old one."""

from datetime import timedelta
from typing import Any

from django.test import Client as Browser

from accounts.models import Account
from api import usage_counts
from api.models import ApiKey
from core import clock
from oidc.models import Project
from tests.devportal.console.forms import at, send, trail
from tests.factories import make_key


def rotate(browser: Browser, key: ApiKey, **fields: str) -> Any:
    return send(browser, at("key_rotate", key.project, key_id=key.public_id), fields)


def test_a_rotated_key_has_the_same_settings(as_developer: Browser, project: Project, developer: Account) -> None:
    old, _ = make_key(project, developer)
    page = rotate(as_developer, old, when="24h").content.decode()
    new = ApiKey.objects.exclude(pk=old.pk).get()
    assert new.public_id in page
    assert f"{new.name} is rotated" in page
    assert (new.name, new.permissions, new.owner_id, new.expires_at) == (old.name, old.permissions, old.owner_id, None)
    old.refresh_from_db()
    assert old.state == "live"
    assert old.expires_at is not None
    assert abs(old.expires_at - clock.now() - timedelta(hours=24)) < timedelta(minutes=1)
    assert len(trail("api_key.rotated")) == 1


def test_a_rotated_key_has_the_same_lifetime(as_developer: Browser, project: Project, developer: Account) -> None:
    old, _ = make_key(project, developer, expires_at=clock.now() + timedelta(days=10))
    ApiKey.objects.update(created_at=clock.now() - timedelta(days=20))
    rotate(as_developer, old, when="now")
    new = ApiKey.objects.exclude(pk=old.pk).get()
    assert new.expires_at is not None
    assert abs(new.expires_at - clock.now() - timedelta(days=30)) < timedelta(minutes=1)
    old.refresh_from_db()
    assert old.state == "revoked"


def test_nobody_rotates_the_key_of_somebody_else(as_owner: Browser, project: Project, developer: Account) -> None:
    key, _ = make_key(project, developer)
    for name in ("key_rotate", "key_expiry"):
        url = at(name, project, key_id=key.public_id)
        assert as_owner.get(url).status_code == 403
        assert as_owner.post(url, {"when": "24h", "once": "a" * 22}).status_code == 403
    assert ApiKey.objects.count() == 1


def test_a_form_that_is_sent_twice_rotates_once(as_developer: Browser, project: Project, developer: Account) -> None:
    key, _ = make_key(project, developer)
    url = at("key_rotate", project, key_id=key.public_id)
    fields = {"once": as_developer.get(url).context["once"], "when": "now"}
    assert as_developer.post(url, fields).status_code == 200
    assert "was already sent" in as_developer.post(url, fields, follow=True).content.decode()
    assert ApiKey.objects.count() == 2


def test_the_quota_counts_both(as_developer: Browser, project: Project, developer: Account, settings: Any) -> None:
    settings.KEYS_PER_PROJECT = 1
    key, _ = make_key(project, developer)
    assert "maximum" in rotate(as_developer, key, when="24h").content.decode()
    key.refresh_from_db()
    assert key.expires_at is None, "what was refused has changed nothing"
    rotate(as_developer, key, when="now")
    assert ApiKey.objects.filter(revoked_at=None).count() == 1


def test_an_expiry_is_moved_and_cancelled(as_developer: Browser, project: Project, developer: Account) -> None:
    key, _ = make_key(project, developer)
    url = at("key_expiry", project, key_id=key.public_id)
    as_developer.post(url, {"when": "7d"})
    key.refresh_from_db()
    assert key.expires_at is not None
    as_developer.post(url, {"when": "never"})
    key.refresh_from_db()
    assert key.expires_at is None


def test_the_ip_address_of_the_last_call_is_stored(client: Browser, project: Project, developer: Account) -> None:
    key, raw = make_key(project, developer)
    dead, dead_raw = make_key(project, developer, expires_at=clock.now() - timedelta(seconds=1))
    statuses = [client.get("/v1/me", headers={"Authorization": f"Bearer {one}"}).status_code for one in (raw, dead_raw)]
    assert statuses == [200, 401]
    usage_counts.flush_usage()
    key.refresh_from_db()
    dead.refresh_from_db()
    assert key.last_used_at is not None
    assert key.last_used_address == "127.0.0.1"
    assert dead.last_used_at is None, "a refused call is no use"
