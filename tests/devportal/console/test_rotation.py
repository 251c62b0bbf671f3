"""Rotation of client secrets and API keys: a new one, and an end for the old one that holds from its second on."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from api import usage_counts
from api.models import ApiKey
from core import clock
from core.credentials import matches
from oidc.clients.secrets import create_secret
from oidc.models import Client, ClientSecret, Project
from tests.devportal.console.forms import at, send, trail
from tests.factories import make_key, make_web_client
from tests.oidc.test_sign_in_log import entries
from tests.relying_party import RelyingParty


@pytest.fixture(params=[ClientSecret, ApiKey])
def old(request: Any, project: Project, developer: Account) -> Any:
    """A live credential of each kind."""
    return make_key(project, developer)[0] if request.param is ApiKey else make_web_client(project)[0].secrets.get()


@pytest.fixture
def web(project: Project) -> Client:
    return make_web_client(project)[0]


def page(name: str, row: Any) -> str:
    if isinstance(row, ApiKey):
        return at(f"key_{name}", row.project, key_id=row.public_id)
    return at(f"client_secret_{name}", row.client.project, row.client, secret_id=row.pk)


def rotate(browser: Browser, row: Any, **fields: str) -> Any:
    return send(browser, page("rotate", row), fields)


@pytest.mark.parametrize(("when", "hours"), [("1h", 1), ("24h", 24), ("7d", 168)])
def test_rotating_creates_a_credential_and_sets_the_end_of_the_old_one(
    as_developer: Browser, developer: Account, old: Any, when: str, hours: int
) -> None:
    raw = rotate(as_developer, old, when=when).context["panel"].raw
    new = type(old).objects.latest("pk")
    assert new.pk != old.pk
    assert matches(raw, new.digest)
    old.refresh_from_db()
    assert (old.state, new.state, new.expires_at) == ("live", "live", None)
    assert abs(old.expires_at - clock.now() - timedelta(hours=hours)) < timedelta(minutes=1)
    (event,) = trail("api_key.rotated") + trail("client_secret.rotated")
    assert event.actor == developer
    assert raw[20:] not in str(event.__dict__)


def test_rotating_with_an_immediate_end_revokes_the_old_one(as_developer: Browser, old: Any) -> None:
    rotate(as_developer, old, when="now")
    assert list(type(old).objects.live()) == [type(old).objects.latest("pk")]


def test_a_chosen_time_is_utc(as_developer: Browser, old: Any) -> None:
    end = (clock.now() + timedelta(days=3)).replace(second=0, microsecond=0)
    rotate(as_developer, old, when="at", at=f"{end:%Y-%m-%dT%H:%M}")
    old.refresh_from_db()
    assert old.expires_at == end


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "Choose one."),
        ({"when": "never"}, "not one of the choices"),
        ({"when": "at"}, "Enter day and time"),
        ({"when": "at", "at": "2001-01-01T00:00"}, "in the past"),
        ({"when": "at", "at": "9999-12-31T23:59"}, "within 30 days"),
    ],
)
def test_an_invalid_end_rotates_nothing(as_developer: Browser, old: Any, fields: dict[str, str], text: str) -> None:
    assert text in rotate(as_developer, old, **fields).content.decode()
    assert type(old).objects.get().expires_at is None


def test_the_maximum_counts_the_old_one_and_the_new_one(
    as_developer: Browser, old: Any, developer: Account, settings: Any
) -> None:
    settings.KEYS_PER_PROJECT = 2
    if isinstance(old, ApiKey):
        make_key(old.project, developer)
    else:
        create_secret(old.client)
        form = as_developer.get(page("rotate", old)).content.decode()
        assert "can only replace this one immediately" in form
    assert "maximum" in rotate(as_developer, old, when="24h").content.decode()
    old.refresh_from_db()
    assert old.expires_at is None, "what was refused has changed nothing"
    rotate(as_developer, old, when="now")
    assert type(old).objects.live().count() == 2


def test_an_expiry_is_moved_and_removed(as_developer: Browser, old: Any) -> None:
    rotate(as_developer, old, when="1h")
    as_developer.post(page("expiry", old), {"when": "7d"})
    old.refresh_from_db()
    assert old.expires_at > clock.now() + timedelta(days=6)
    as_developer.post(page("expiry", old), {"when": "never"})
    old.refresh_from_db()
    assert old.expires_at is None
    events = trail("api_key.expiry_changed") + trail("client_secret.expiry_changed")
    assert [event.after["expires_at"] is None for event in events] == [False, True]


@pytest.mark.parametrize(("model", "days"), [(ClientSecret, 30), (ApiKey, 3650)])
def test_an_expiry_has_a_furthest_day(
    as_developer: Browser, project: Project, developer: Account, web: Client, model: Any, days: int
) -> None:
    make_key(project, developer)
    row = model.objects.get()
    form = as_developer.post(page("expiry", row), {"when": "at", "at": "9999-12-31T23:59"})
    assert f"within {days} days" in form.content.decode()
    assert model.objects.get().expires_at is None


def test_an_expired_one_can_not_be_rotated(as_developer: Browser, old: Any) -> None:
    type(old).objects.update(expires_at=clock.now())
    for name in ("rotate", "expiry"):
        assert as_developer.get(page(name, old)).status_code == 404
    assert as_developer.post(page("rotate", old), {"when": "soon", "once": "a" * 22}).status_code == 404


def test_a_rotated_key_has_the_same_settings_and_lifetime(
    as_developer: Browser, project: Project, developer: Account
) -> None:
    old, _ = make_key(project, developer, expires_at=clock.now() + timedelta(days=10))
    ApiKey.objects.update(created_at=clock.now() - timedelta(days=20))
    shown = rotate(as_developer, old, when="24h").content.decode()
    new = ApiKey.objects.exclude(pk=old.pk).get()
    assert new.public_id in shown
    assert f"{new.name} is rotated" in shown
    assert (new.name, new.permissions, new.owner_id) == (old.name, old.permissions, old.owner_id)
    assert new.expires_at is not None
    assert abs(new.expires_at - clock.now() - timedelta(days=30)) < timedelta(minutes=1)


def test_nobody_rotates_the_key_of_someone_else(as_owner: Browser, project: Project, developer: Account) -> None:
    key, _ = make_key(project, developer)
    for name in ("rotate", "expiry"):
        assert as_owner.get(page(name, key)).status_code == 403
        assert as_owner.post(page(name, key), {"when": "24h", "once": "a" * 22}).status_code == 403
    assert ApiKey.objects.count() == 1


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


def test_the_list_shows_expired_secrets(as_developer: Browser, web: Client) -> None:
    ClientSecret.objects.update(expires_at=clock.now())
    assert as_developer.get(page("end", web.secrets.get())).status_code == 404
    shown = as_developer.get(at("client_settings", web.project, web)).content.decode()
    assert "expired" in shown
    assert "no live secret" in shown


def test_the_page_warns_if_an_ending_secret_is_still_used(as_developer: Browser, web: Client) -> None:
    url, home = at("client_settings", web.project, web), at("project", web.project)
    ClientSecret.objects.update(
        expires_at=clock.now() + timedelta(hours=5),
        last_used_at=clock.now() - timedelta(hours=1),
        last_used_address="203.0.113.7",
    )
    shown = as_developer.get(url).content.decode()
    assert "is still in use" in shown
    assert "203.0.113.7" in shown
    assert "still in use" in as_developer.get(home).content.decode()
    ClientSecret.objects.update(last_used_at=clock.now() - timedelta(hours=25))
    assert "still in use" not in as_developer.get(url).content.decode()
    assert "still in use" not in as_developer.get(home).content.decode()


def test_creating_a_secret_revokes_expired_ones(web: Client) -> None:
    end = clock.now() - timedelta(minutes=5)
    create_secret(web)
    web.secrets.order_by("pk").update(expires_at=end)
    create_secret(web)
    assert web.secrets.filter(revoked_at=end).count() == 2
    assert web.secrets.live().count() == 1


def test_an_expired_secret_is_rejected_from_its_end(web_app: RelyingParty, later: Callable[[float], None]) -> None:
    row = web_app.client.secrets.get()
    ClientSecret.objects.update(expires_at=datetime.now(UTC) + timedelta(seconds=30))
    assert web_app.exchange(web_app.code()).status_code == 200
    code = web_app.code()
    later(31)
    refused = web_app.exchange(code)
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
    assert entries(web_app.client)[-1].reason_text == f"The secret that ends in {row.last_four} has expired."
    row.refresh_from_db()
    assert row.revoked_at is None, "nobody had to write that it has ended"


def test_the_ip_address_of_the_last_use_is_stored(web_app: RelyingParty) -> None:
    assert web_app.exchange(web_app.code()).status_code == 200
    row = web_app.client.secrets.get()
    assert row.last_used_at is not None
    assert row.last_used_address == "127.0.0.1"


def rotate_status(browser: Browser, row: Any) -> int:
    return int(browser.post(page("rotate", row), {"when": "soon", "once": "a" * 22}).status_code)


def test_viewers_can_not_rotate(as_viewer: Browser, old: Any) -> None:
    assert rotate_status(as_viewer, old) == 403
