"""Rotation of client secrets: a new one, and an end for the old one that holds from its second on."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from oidc.clients.secrets import create_secret
from oidc.models import Client, ClientSecret, Project
from tests.devportal.console.clients.test_secrets import SECRET
from tests.devportal.console.forms import at, send, trail
from tests.factories import make_web_client
from tests.oidc.test_sign_in_log import entries
from tests.relying_party import RelyingParty


@pytest.fixture
def web(project: Project) -> Client:
    return make_web_client(project)[0]


def rotate(browser: Browser, secret: ClientSecret, **fields: str) -> Any:
    client = secret.client
    return send(browser, at("client_secret_rotate", client.project, client, secret_id=secret.pk), fields)


def change(browser: Browser, secret: ClientSecret, **fields: str) -> Any:
    client = secret.client
    return browser.post(at("client_secret_expiry", client.project, client, secret_id=secret.pk), fields)


@pytest.mark.parametrize(("when", "hours"), [("1h", 1), ("24h", 24), ("7d", 168)])
def test_rotating_creates_a_secret_and_sets_the_end_of_the_old_one(
    as_developer: Browser, web: Client, when: str, hours: int
) -> None:
    old = web.secrets.get()
    page = rotate(as_developer, old, when=when).content.decode()
    new = web.secrets.latest("pk")
    assert new.pk != old.pk
    assert SECRET.search(page)
    old.refresh_from_db()
    assert old.ended_at is None
    assert old.expires_at is not None
    assert abs(old.expires_at - clock.now() - timedelta(hours=hours)) < timedelta(minutes=1)
    assert web.secrets.live().count() == 2
    assert len(trail("client_secret.rotated")) == 1


def test_rotating_with_an_immediate_end_revokes_the_old_secret(as_developer: Browser, web: Client) -> None:
    old = web.secrets.get()
    rotate(as_developer, old, when="now")
    assert list(web.secrets.live()) == [web.secrets.latest("pk")]


def test_a_chosen_time_is_utc(as_developer: Browser, web: Client) -> None:
    end = (clock.now() + timedelta(days=3)).replace(second=0, microsecond=0)
    rotate(as_developer, web.secrets.get(), when="at", at=f"{end:%Y-%m-%dT%H:%M}")
    assert web.secrets.order_by("pk")[0].expires_at == end


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "Choose one."),
        ({"when": "soon"}, "not one of the choices"),
        ({"when": "at"}, "Enter day and time"),
        ({"when": "at", "at": "tomorrow"}, "Enter day and time"),
        ({"when": "at", "at": "2001-01-01T00:00"}, "in the past"),
        ({"when": "at", "at": "9999-12-31T23:59"}, "within 30 days"),
        ({"when": "at", "at": "0001-01-01T00:00"}, "in the past"),
    ],
)
def test_an_invalid_end_rotates_nothing(as_developer: Browser, web: Client, fields: dict[str, str], text: str) -> None:
    old = web.secrets.get()
    url = at("client_secret_rotate", web.project, web, secret_id=old.pk)
    once = as_developer.get(url).context["once"]
    assert text in as_developer.post(url, {"once": once} | fields).content.decode()
    assert web.secrets.count() == 1
    assert web.secrets.get().expires_at is None


def test_a_form_that_is_sent_twice_rotates_once(as_developer: Browser, web: Client) -> None:
    old = web.secrets.get()
    url = at("client_secret_rotate", web.project, web, secret_id=old.pk)
    fields = {"once": as_developer.get(url).context["once"], "when": "now"}
    assert as_developer.post(url, fields).status_code == 200
    page = as_developer.post(url, fields, follow=True).content.decode()
    assert "already sent" in page
    assert web.secrets.count() == 2


def test_one_of_two_active_secrets_can_only_end_immediately(as_developer: Browser, web: Client) -> None:
    old = web.secrets.get()
    create_secret(web)
    assert (
        "can only replace this one immediately"
        in as_developer.get(at("client_secret_rotate", web.project, web, secret_id=old.pk)).content.decode()
    )
    assert "maximum" in rotate(as_developer, old, when="24h").content.decode()
    old.refresh_from_db()
    assert old.expires_at is None
    rotate(as_developer, old, when="now")
    assert web.secrets.live().count() == 2


def test_an_end_is_moved_and_cancelled(as_developer: Browser, web: Client) -> None:
    old = web.secrets.get()
    rotate(as_developer, old, when="1h")
    change(as_developer, old, when="7d")
    old.refresh_from_db()
    assert old.expires_at is not None
    assert old.expires_at > clock.now() + timedelta(days=6)
    change(as_developer, old, when="never")
    old.refresh_from_db()
    assert old.expires_at is None


def test_an_expired_secret_can_not_be_rotated(as_developer: Browser, web: Client) -> None:
    old = web.secrets.get()
    ClientSecret.objects.update(expires_at=clock.now())
    for name in ("client_secret_rotate", "client_secret_expiry", "client_secret_end"):
        assert as_developer.get(at(name, web.project, web, secret_id=old.pk)).status_code == 404
    page = as_developer.get(at("client_secrets", web.project, web)).content.decode()
    assert "expired" in page
    assert "no live secret" in page


def test_viewers_can_not_rotate(as_viewer: Browser, web: Client) -> None:
    assert rotate_status(as_viewer, web) == 403
    assert web.secrets.count() == 1


def rotate_status(browser: Browser, web: Client) -> int:
    url = at("client_secret_rotate", web.project, web, secret_id=web.secrets.get().pk)
    return int(browser.post(url, {"when": "now", "once": "a" * 22}).status_code)


def test_the_page_warns_if_an_ending_secret_is_still_used(
    as_developer: Browser, web: Client, developer: Account
) -> None:
    url, home = at("client_secrets", web.project, web), at("project", web.project)
    ClientSecret.objects.update(
        expires_at=clock.now() + timedelta(hours=5),
        last_used_at=clock.now() - timedelta(hours=1),
        last_used_address="203.0.113.7",
    )
    page = as_developer.get(url).content.decode()
    assert "is still in use" in page
    assert "203.0.113.7" in page
    assert "still in use" in as_developer.get(home).content.decode()
    ClientSecret.objects.update(last_used_at=clock.now() - timedelta(hours=25))
    assert "still in use" not in as_developer.get(url).content.decode()
    assert "still in use" not in as_developer.get(home).content.decode()


# --- At the token endpoint ---


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
    assert row.ended_at is None, "nobody had to write that it has ended"


def test_the_ip_address_of_the_last_use_is_stored(web_app: RelyingParty) -> None:
    assert web_app.exchange(web_app.code()).status_code == 200
    row = web_app.client.secrets.get()
    assert row.last_used_at is not None
    assert row.last_used_address == "127.0.0.1"


def test_creating_a_secret_revokes_expired_ones(web: Client) -> None:
    end = clock.now() - timedelta(minutes=5)
    create_secret(web)
    web.secrets.order_by("pk").update(expires_at=end)
    create_secret(web)
    assert web.secrets.filter(ended_at=end).count() == 2
    assert web.secrets.live().count() == 1
