"""A host that someone registers reaches no header that it could change, through whichever door it came."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client as Browser
from django.urls import reverse

from accounts.models import Account
from core.http.headers import PAGE_POLICY
from core.http.hosts import is_loopback
from oidc.models import Client, ProjectMember
from tests.factories import make_client, make_project
from tests.relying_party import RelyingParty, leads_to

HOSTILE = [
    "https://a;sandbox",
    "https://a;script-src",
    "https://a,b.example.com",
    "https://'unsafe-inline'",
    "https://a$b.example.com",
    "https://a%3bsandbox",
    "https://a&b",
]


def form_action(response: Any) -> str:
    policy: str = response["Content-Security-Policy"]
    directives = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    assert set(directives) == {part.split()[0] for part in PAGE_POLICY.split("; ")}
    return directives["form-action"]


@pytest.mark.parametrize("origin", HOSTILE)
def test_an_invalid_stored_host_is_not_in_a_policy(app: RelyingParty, origin: str) -> None:
    uri = f"{origin}/callback"
    Client.objects.filter(pk=app.client.pk).update(redirect_uris=uri, post_logout_redirect_uris=uri)
    app.redirect_uri = uri
    consent = app.authorize()
    assert consent.status_code == 200
    assert form_action(consent) == "'self'"
    # Who asks for it gets it still: it is registered, character for character.
    assert leads_to(app.answer_consent(consent)).startswith(f"{uri}?")
    assert form_action(app.authorize(prompt="login")) == "'self'"
    anonymous = app.beside(Browser())
    anonymous.authorize()
    assert form_action(anonymous.browser.get("/account/login/")) == "'self'"


def test_the_page_of_a_full_app_contains_no_invalid_host(app: RelyingParty, settings: Any) -> None:
    settings.UNVERIFIED_APP_PEOPLE = 0
    uri = f"{HOSTILE[0]}/callback"
    Client.objects.filter(pk=app.client.pk).update(redirect_uris=uri)
    app.redirect_uri = uri
    page = app.authorize()
    assert page.status_code == 403
    assert form_action(page) == "'self'"


def test_sign_out_contains_no_invalid_host(app: RelyingParty) -> None:
    uri = f"{HOSTILE[0]}/bye"
    Client.objects.filter(pk=app.client.pk).update(post_logout_redirect_uris=uri)
    query = {"post_logout_redirect_uri": uri, "client_id": app.client.client_id}
    assert form_action(app.browser.get("/connect/logout", query, follow=True)) == "'self'"


@pytest.mark.parametrize("origin", HOSTILE)
def test_the_console_rejects_invalid_hosts(person: Account, signed_in: Browser, origin: str) -> None:
    project = make_project(person)
    client = make_client(project)
    data = {"name": "Orbit", "type": "spa", "redirect_uris": [f"{origin}/cb"], "post_logout_redirect_uris": [""]}
    made = signed_in.post(reverse("console:client_new", args=[project.public_id]), data)
    assert made.status_code == 200
    assert Client.objects.count() == 1
    checked = signed_in.post("/console/check/addresses", {"address": [f"{origin}/cb"]}).json()
    assert checked["entries"][0]["error"]
    client.refresh_from_db()
    assert origin not in client.redirect_uris


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["redirect_uris", "post_logout_redirect_uris"])
@pytest.mark.parametrize("origin", [*HOSTILE, "https://127.0.0.1:8000", "https://localhost.", "https://[::1]"])
def test_provisioning_rejects_invalid_hosts(tmp_path: Path, key: str, origin: str) -> None:
    addresses = {"redirect_uris": "https://app.example.com/cb"} | {key: f"{origin}/cb"}
    text = """
        people = [{email = "dana@example.com", password = "correct horse 9"}]
        [[projects]]
        name = "Orbit"
        owner = "dana@example.com"
        [[projects.clients]]
        name = "Orbit"
        type = "spa"
    """ + "".join(f'{name} = ["{address}"]\n' for name, address in addresses.items())
    file = tmp_path / "demo.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CommandError, match=key):
        call_command("provision", str(file))
    assert not Client.objects.exists()
    assert not ProjectMember.objects.exists()


LOOPBACK = (
    "localhost", "LOCALHOST", "localhost.", "app.localhost", "127.0.0.1", "127.255.0.9", "127.1", "0177.1",
    "0x7f.0.0.1", "2130706433", "0x7f000001", "0.0.0.0", "0", "::1", "[::1]", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1",
    "::",
)  # fmt: skip


@pytest.mark.parametrize("host", LOOPBACK)
def test_every_spelling_of_loopback_is_recognized(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "a.example", "128.0.0.1", "localhost.example.com", "2001:db8::1", "a;b", "\x00"])
def test_other_hosts_are_not_loopback(host: str) -> None:
    assert not is_loopback(host)
