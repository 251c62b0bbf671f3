# ruff: noqa: RUF001  (names in disguise)
"""The list of clients, and making one."""

import io
import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client as Browser
from django.urls import reverse
from django.utils.html import escape

from accounts.models import Account
from core import clock
from core.credentials import matches
from devportal.console.analytics.store import SignInCount, add_counts
from devportal.console.models import AuditEvent, IdempotencyToken
from oidc.models import Client, ClientSecret, Project
from oidc.sign_in_log.steps import Step
from tests.core.test_names import DISGUISES
from tests.devportal.console.forms import URI, at, is_nowhere, send, trail
from tests.factories import as_reviewed, make_client, make_project, make_web_client

SECRET = re.compile(r"op_secret_[A-Za-z0-9]{43}")


def new(browser: Browser, project: Project, **changes: Any) -> Any:
    """Send the form for a new client."""
    fields = {"name": "Orbit Notes", "type": "spa", "redirect_uris": [URI, "", ""], "post_logout_redirect_uris": [""]}
    return send(browser, at("client_new", project), fields | changes)


def test_the_list_has_this_projects_clients_and_no_others(as_viewer: Browser, project: Project) -> None:
    make_client(project, name="Ours")
    make_client(make_project(), name="Theirs")
    page = as_viewer.get(at("clients", project)).content.decode()
    assert "Ours" in page
    assert "Theirs" not in page
    assert at("client_new", project) not in page


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("orbit", {"Orbit Notes", "orbit diary"}),
        ("Notes", {"Orbit Notes"}),
        ("", {"Orbit Notes", "orbit diary", "Zebra"}),
        ("%", set()),
        ("op_client_zebra", {"Zebra"}),
        ("é\u202e'\"<", set()),
        ("x" * 5000, {"Orbit Notes", "orbit diary", "Zebra"}),
    ],
)
def test_search_finds_parts_of_names_and_beginnings_of_ids(
    as_viewer: Browser, project: Project, wanted: str, found: set[str]
) -> None:
    make_client(project, name="Orbit Notes")
    make_client(project, name="orbit diary")
    make_client(project, name="Zebra", client_id="op_client_zebra1")
    response = as_viewer.get(at("clients", project), {"q": wanted})
    assert {client.name for client in response.context["page"].rows} == found
    assert '"<' not in response.content.decode()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"type": "web"}, {"Keyed", "Keyless"}),
        ({"status": "off"}, {"Off"}),
        ({"review": "reviewed"}, {"Reviewed"}),
        ({"secret": "none"}, {"Keyless"}),
        ({"signed_in": "week"}, {"Used"}),
        ({"signed_in": "month"}, {"Used", "Used before"}),
        ({"signed_in": "before", "type": "spa", "status": "on", "review": "unreviewed"}, {"Quiet"}),
        ({"type": "spaceship"}, {"Keyed", "Keyless", "Off", "Reviewed", "Used", "Used before", "Quiet"}),
    ],
)
def test_clients_are_filtered(as_viewer: Browser, project: Project, query: dict[str, str], found: set[str]) -> None:
    make_web_client(project, name="Keyed")
    keyless, _ = make_web_client(project, name="Keyless")
    keyless.secrets.update(revoked_at=clock.now())
    make_client(project, name="Off", enabled=False)
    make_client(project, name="Reviewed", **as_reviewed())
    make_client(project, name="Quiet")
    for name, days in (("Used", 2), ("Used before", 20)):
        hour = (clock.now() - timedelta(days=days)).replace(minute=0, second=0, microsecond=0)
        add_counts([SignInCount(make_client(project, name=name).pk, hour, Step.EXCHANGED, "", 1)])
    response = as_viewer.get(at("clients", project), query)
    assert {client.name for client in response.context["page"].rows} == found


def test_the_list_is_paged_with_its_filters(as_viewer: Browser, project: Project) -> None:
    for number in range(60):
        make_client(project, name=f"App {number}")
    page = as_viewer.get(at("clients", project), {"q": "App"}).context["page"]
    older = as_viewer.get(at("clients", project) + page.older).context["page"]
    assert (len(page.rows), len(older.rows)) == (50, 10)


@pytest.mark.parametrize("kind", ["spa", "native"])
def test_a_client_without_a_secret_ends_on_its_quick_start(
    as_developer: Browser, developer: Account, project: Project, kind: str
) -> None:
    response = new(as_developer, project, type=kind)
    client = Client.objects.get(project=project)
    assert response["Location"] == at("quick_start", project, client)
    assert client.type == kind
    assert client.registered_redirect_uris == (URI,)
    assert not ClientSecret.objects.exists()
    (event,) = trail("client.created")
    assert (event.actor, event.project, event.target) == (developer, project.public_id, client.client_id)


def test_a_web_client_ends_on_its_secret_shown_once(
    as_developer: Browser, developer: Account, project: Project
) -> None:
    response = new(as_developer, project, type="web")
    client, row = Client.objects.get(project=project), ClientSecret.objects.get()
    found = set(SECRET.findall(response.content.decode()))
    assert response.status_code == 200
    assert len(found) == 1
    assert matches(found.pop(), row.digest)
    assert row.created_by == developer
    assert "no-store" in response["Cache-Control"]
    assert client.client_id in response.content.decode()


def test_a_form_without_its_token_creates_nothing_and_keeps_the_input(as_developer: Browser, project: Project) -> None:
    for token in ("", "x" * 22 + "\x00"):
        fields = {"once": token, "name": "Orbit Notes", "type": "web", "redirect_uris": [URI]}
        page = as_developer.post(at("client_new", project), fields).content.decode()
        assert "send the form again" in page
        assert 'value="Orbit Notes"' in page
        assert URI in page
    assert not Client.objects.exists()


def test_adding_rows_validates_and_saves_nothing(as_developer: Browser, project: Project) -> None:
    fields = {"name": "", "type": "web", "redirect_uris": [URI, "http://a.example/"], "more": "redirect_uris"}
    response = new(as_developer, project, **fields)
    form = response.context["form"]
    assert len(form["redirect_uris"].rows) == 2 + 1 + 1
    assert len(form["post_logout_redirect_uris"].rows) == 1
    assert not form.is_bound
    page = response.content.decode()
    assert "http is allowed only" in page
    assert 'id="id_type_web" value="web" aria-describedby="id_type_web_text" checked' in page
    assert not Client.objects.exists()


@pytest.mark.parametrize("name", ["", "x" * 101, "a\x00b", DISGUISES[0]])
def test_an_invalid_name_shows_an_error_at_its_field(as_developer: Browser, project: Project, name: str) -> None:
    response = new(as_developer, project, name=name)
    assert response.status_code == 200
    assert response.context["form"].errors.keys() == {"name"}
    assert (
        f'<p class="addresses__error">{escape(response.context["form"].errors["name"][0])}' in response.content.decode()
    )
    assert not Client.objects.exists()
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "'; DROP TABLE oidc_client; --", "{{ 7 }}", "🛰 Orbit"])
def test_an_unusual_name_is_accepted_and_escaped(as_developer: Browser, project: Project, name: str) -> None:
    assert new(as_developer, project, name=name).status_code == 302
    assert Client.objects.get(project=project).name == name
    page = as_developer.get(at("clients", project)).content.decode()
    assert "<script>alert" not in page


@pytest.mark.parametrize(
    ("field", "values", "said"),
    [
        ("redirect_uris", [""], "Add at least one URL"),
        ("redirect_uris", ["http://app.example.com/"], "http is allowed only for localhost and 127.0.0.1."),
        ("redirect_uris", [f"{URI}{number}" for number in range(51)], "at most 50 of these URLs, but 51 were entered"),
        ("redirect_uris", ["http://localhost:8000/callback"], "belongs to the service itself"),
        ("post_logout_redirect_uris", ["https://user@app.example.com/"], "Remove the user name"),
        ("type", "first_party", "Choose one of these three."),
        ("type", "", "Choose where it runs."),
    ],
)
def test_errors_are_shown_next_to_their_fields(
    as_developer: Browser, project: Project, field: str, values: Any, said: str
) -> None:
    response = new(as_developer, project, **{field: values})
    assert response.status_code == 200
    assert response.context["form"].errors.keys() == {field}
    assert said in response.content.decode()
    assert not Client.objects.exists()


def test_a_project_at_its_limit_shows_a_message(as_developer: Browser, project: Project, settings: Any) -> None:
    settings.CLIENTS_PER_PROJECT = 1
    make_client(project)
    page = new(as_developer, project).content.decode()
    assert "This project has 1 apps, which is the maximum." in page
    assert Client.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("Orbit Notes", ""),
        ("Ореnport", "A name can"),
        ("", "Enter a name of 1 to 100"),
        ("x" * 200_000, "Enter a name of 1"),
    ],
)
def test_a_name_is_checked_by_the_same_rule(as_viewer: Browser, name: str, error: str) -> None:
    response = as_viewer.post(reverse("console:check_name"), {"name": name})
    assert response.json()["error"].startswith(error)
    assert bool(response.json()["error"]) == bool(error)
    assert "no-store" in response["Cache-Control"]


def test_urls_are_checked_by_the_same_rules(as_viewer: Browser) -> None:
    texts = [URI, f"{URI}/", "", "http://app.example.com/", "http://localhost/", URI]
    response = as_viewer.post(reverse("console:check_addresses"), {"address": texts})
    slash = ["This URL differs from another one only by a trailing slash. Both are kept."]
    assert response.json()["entries"] == [
        {"error": "", "notes": slash},
        {"error": "", "notes": slash},
        {"error": "", "notes": []},
        {"error": "http is allowed only for localhost and 127.0.0.1.", "notes": []},
        {"error": "", "notes": ["The port has to match exactly. Add a URL for each port that your app may use."]},
        {"error": "", "notes": ["This URL was entered twice. It is kept once."]},
    ]
    assert "no-store" in response["Cache-Control"]


def test_the_secret_is_in_one_response_only(as_developer: Browser, project: Project) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        response = new(as_developer, project, type="web")
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    secret = SECRET.search(response.content.decode())
    assert secret is not None
    client = Client.objects.get(project=project)
    pages = [
        as_developer.get(at(name, project, client)).content.decode()
        for name in ("client_settings", "quick_start", "client_type", "client_delete")
    ]
    pages.append(as_developer.get(at("clients", project)).content.decode())
    sessions = [session.get_decoded() for session in Session.objects.all()]
    rows = [list(model.objects.values()) for model in (AuditEvent, IdempotencyToken, Client, ClientSecret)]
    headers = dict(response.headers), response.cookies
    assert is_nowhere(secret[0], pages, sessions, rows, headers, stream.getvalue())
    # Nor any piece of it that would do.
    assert is_nowhere(secret[0][10:], pages, sessions, rows, headers, stream.getvalue())


def test_a_check_needs_the_forms_token(viewer: Account) -> None:
    browser = Browser(enforce_csrf_checks=True)
    browser.force_login(viewer)
    for name in ("check_name", "check_addresses"):
        assert browser.post(reverse(f"console:{name}"), {"name": "x"}).status_code == 403
