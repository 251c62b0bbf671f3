"""A web client's secrets: adding, ending, and being shown once."""

import re
from datetime import timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from core.credentials import matches
from oidc.clients.secrets import create_secret
from oidc.models import Client, ClientSecret, Project
from tests.devportal.console.forms import at, is_nowhere, send, trail
from tests.factories import make_client, make_web_client

SECRET = re.compile(r"op_secret_[A-Za-z0-9]{43}")


@pytest.fixture
def web(project: Project) -> Client:
    return make_web_client(project)[0]


def add(browser: Browser, client: Client) -> Any:
    return send(
        browser,
        at("client_secret_new", client.project, client),
        {},
        form_on=at("client_settings", client.project, client),
    )


def end(browser: Browser, secret: ClientSecret, **fields: str) -> Any:
    client = secret.client
    return browser.post(at("client_secret_end", client.project, client, secret_id=secret.pk), fields)


def test_a_row_shows_who_when_and_the_last_characters(as_viewer: Browser, project: Project, developer: Account) -> None:
    client = make_client(project, type="web")
    row, raw = create_secret(client, developer)
    page = as_viewer.get(at("client_settings", project, client)).content.decode()
    assert f"…{row.last_four}" in page
    assert developer.email in page
    assert "Never" in page
    assert is_nowhere(raw, page)
    assert is_nowhere(row.digest, page)
    buttons = BeautifulSoup(page, "html.parser").select("main button")
    assert {str(button.get("type")) for button in buttons} <= {"button"}, "they copy ids, and send no form"
    assert "secrets/new" not in page
    ClientSecret.objects.update(last_used_at=clock.now() - timedelta(days=3))
    page = as_viewer.get(at("client_settings", project, client)).content.decode()
    assert "Never" not in page.partition("<main")[2]


@pytest.mark.parametrize(
    ("kind", "why"), [("spa", "A browser app has no secret"), ("native", "An installed app has no")]
)
def test_other_client_types_see_why_there_is_no_secret(
    as_developer: Browser, project: Project, kind: str, why: str
) -> None:
    client = make_client(project, type=kind)
    page = as_developer.get(at("client_settings", project, client)).content.decode()
    assert why in page
    assert "Create a secret" not in page
    assert not SECRET.search(add(as_developer, client).content.decode())
    assert not ClientSecret.objects.exists()


def test_a_second_secret_is_shown_once(as_developer: Browser, developer: Account, web: Client) -> None:
    response = add(as_developer, web)
    found = SECRET.search(response.content.decode())
    assert found is not None
    row = ClientSecret.objects.latest("pk")
    assert matches(found[0], row.digest)
    assert row.created_by == developer
    assert "no-store" in response["Cache-Control"]
    event = trail("client_secret.created")[-1]
    assert (event.actor, event.target, event.after) == (developer, web.client_id, {"last_four": row.last_four})


def test_a_third_secret_is_rejected(as_developer: Browser, web: Client) -> None:
    add(as_developer, web)
    page = as_developer.get(at("client_settings", web.project, web)).content.decode()
    assert "Create a second secret" not in page
    response = add(as_developer, web)
    assert not SECRET.search(response.content.decode())
    assert "Two secrets are live" in as_developer.get(response["Location"]).content.decode()
    assert ClientSecret.objects.count() == 2


def test_an_unused_secret_is_revoked_without_confirmation(
    as_developer: Browser, developer: Account, web: Client
) -> None:
    old = ClientSecret.objects.get()
    create_secret(web)
    page = as_developer.get(at("client_secret_end", web.project, web, secret_id=old.pk)).content.decode()
    assert "understood" not in page
    end(as_developer, old)
    assert list(ClientSecret.objects.filter(revoked_at=None)) == [ClientSecret.objects.latest("pk")]
    (event,) = trail("client_secret.ended")
    assert (event.actor, event.before) == (developer, {"last_four": old.last_four})


@pytest.mark.parametrize(("hours", "must_tick"), [(0.1, True), (23.9, True), (24.1, False)])
def test_revoking_a_used_secret_needs_confirmation(
    as_developer: Browser, web: Client, hours: float, must_tick: bool
) -> None:
    old = ClientSecret.objects.get()
    create_secret(web)
    ClientSecret.objects.filter(pk=old.pk).update(last_used_at=clock.now() - timedelta(hours=hours))
    response = end(as_developer, old)
    if must_tick:
        assert "It is in use." in response.content.decode()
        assert "Tick this to revoke it." in response.content.decode()
        assert ClientSecret.objects.filter(revoked_at=None).count() == 2
        response = end(as_developer, old, understood="on")
    assert response.status_code == 302
    assert ClientSecret.objects.filter(revoked_at=None).count() == 1


def test_the_only_secret_is_revoked_once_after_a_confirmation(as_developer: Browser, web: Client) -> None:
    only = ClientSecret.objects.get()
    assert "This is the only secret." in end(as_developer, only).content.decode()
    ClientSecret.objects.update(last_used_at=clock.now())
    page = end(as_developer, only).content.decode()
    assert "Create a second secret, and give it to your app first." in page
    assert "the other secret" not in page
    assert end(as_developer, only, understood="on").status_code == 302
    page = as_developer.get(at("client_settings", web.project, web)).content.decode()
    assert "This app has no live secret" in page
    assert f"…{only.last_four}" in page
    assert end(as_developer, only, understood="on").status_code == 404
    assert len(trail("client_secret.ended")) == 1


def test_a_secret_of_another_client_is_404(as_developer: Browser, web: Client) -> None:
    other, _ = make_web_client(web.project, name="Other")
    theirs = other.secrets.get()
    url = at("client_secret_end", web.project, web, secret_id=theirs.pk)
    assert as_developer.post(url, {"understood": "on"}).status_code == 404
    assert other.secrets.filter(revoked_at=None).exists()


def test_viewers_can_not_add_or_revoke_secrets(as_viewer: Browser, web: Client) -> None:
    assert as_viewer.post(at("client_secret_new", web.project, web), {"once": "x" * 22}).status_code == 403
    assert end(as_viewer, ClientSecret.objects.get(), understood="on").status_code == 403
    assert ClientSecret.objects.filter(revoked_at=None).count() == 1
