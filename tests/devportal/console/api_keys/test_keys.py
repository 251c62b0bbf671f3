"""API keys: the list, making one, revoking one."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client as Browser

from accounts.models import Account
from api.models import ApiKey
from core import clock
from core.credentials import matches
from oidc.apis.registry import reload_registry
from oidc.models import Api, ApiScope, Project, ProjectMember
from tests.devportal.console.forms import at, is_nowhere, send, trail
from tests.factories import make_api, make_key, make_project

KEY = re.compile(r"op_key_[A-Za-z0-9]{12}_[A-Za-z0-9]{49}")


def new(browser: Browser, project: Project, **changes: Any) -> Any:
    fields = {"name": "Nightly report", "permissions": ["account.read"], "expires_on": ""}
    return send(browser, at("key_new", project), fields | changes)


def raw_in(response: Any) -> str:
    """Return the key that a page shows."""
    found = set(KEY.findall(response.content.decode()))
    assert len(found) == 1
    raw: str = found.pop()
    return raw


def me(raw: str) -> Any:
    return Browser().get("/v1/me", headers={"Authorization": f"Bearer {raw}"})


def test_the_list_shows_this_projects_keys_without_secrets(
    as_viewer: Browser, project: Project, developer: Account, outsider: Account
) -> None:
    row, raw = make_key(project, developer)
    make_key(make_project(outsider), outsider)
    page = as_viewer.get(at("keys", project)).content.decode()
    assert page.count("A script") == 1
    assert f"op_key_{row.public_id}…{row.last_four}" in page
    assert developer.email in page
    assert outsider.email not in page
    assert is_nowhere(raw[20:], page)
    assert is_nowhere(row.digest, page)
    assert ">Create an API key</a>" not in page
    assert at("key_revoke", project, key_id=row.public_id) not in page


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"state": "live"}, {"live", "powerless", "old"}),
        ({"state": "expired"}, {"expired"}),
        ({"state": "revoked"}, {"revoked"}),
        ({"permission": "none"}, {"powerless"}),
        ({"used": "lately"}, {"live"}),
        ({"q": "OWER"}, {"powerless"}),
        ({"q": "dan@"}, {"live", "powerless", "old", "expired", "revoked"}),
        ({"q": "nothing"}, set()),
    ],
)
def test_keys_are_filtered(
    as_developer: Browser, project: Project, developer: Account, query: dict[str, str], found: set[str]
) -> None:
    now = clock.now()
    states: dict[str, dict[str, Any]] = {
        "live": {"last_used_at": now - timedelta(days=1)},
        "powerless": {"permissions": ""},
        "old": {"last_used_at": now - timedelta(days=100)},
        "expired": {"expires_at": now - timedelta(days=1)},
        "revoked": {"revoked_at": now},
    }
    for name, fields in states.items():
        key, _ = make_key(project, developer)
        ApiKey.objects.filter(pk=key.pk).update(name=name, **fields)
    response = as_developer.get(at("keys", project), query)
    assert {row.row.name for row in response.context["rows"]} == found
    assert "form" not in response.context
    if not found:
        assert "No API key matches the filters." in response.content.decode()


def test_without_keys_the_first_one_is_created_on_the_list(
    as_developer: Browser, as_viewer: Browser, project: Project
) -> None:
    url = at("keys", project)
    form = f'action="{at("key_new", project)}"'
    assert form not in as_viewer.get(url).content.decode()
    page = as_developer.get(url).content.decode()
    assert form in page
    assert "Never put an API key into a page" in page
    made = send(
        as_developer, at("key_new", project), {"name": "A script", "permissions": ["account.read"]}, form_on=url
    )
    assert made.context["panel"].raw
    assert form not in as_developer.get(url).content.decode()


def test_the_list_is_paged(as_viewer: Browser, project: Project, owner: Account) -> None:
    for _ in range(51):
        make_key(project, owner)
    assert len(as_viewer.get(at("keys", project)).context["rows"]) == 50


def test_a_key_is_shown_once_and_works(as_developer: Browser, developer: Account, project: Project) -> None:
    response = new(as_developer, project)
    raw, row = raw_in(response), ApiKey.objects.get()
    assert matches(raw, row.digest)
    assert (row.owner, row.project, row.name, row.permissions) == (developer, project, "Nightly report", "account.read")
    assert row.expires_at is None
    assert me(raw).json()["email"] == developer.email
    assert "no-store" in response["Cache-Control"]
    page = response.content.decode()
    assert "curl -sS -H &quot;Authorization: Bearer $API_KEY&quot; http://localhost:8000/v1/me" in page
    command = BeautifulSoup(page, "html.parser").select("#command")[0].get_text()
    assert ". ./api-key.env" in command
    assert raw not in command, "the shell would store the key in its history"
    assert "Never put an API key into a page" in page


def test_a_key_can_have_no_permissions(as_developer: Browser, project: Project) -> None:
    raw = raw_in(new(as_developer, project, permissions=[]))
    assert me(raw).status_code == 403


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"name": ""}, "name", "Enter a name."),
        ({"name": "x" * 101}, "name", "at most 100 characters"),
        ({"name": "a\x00b"}, "name", "Null characters"),
        ({"permissions": ["account.write"]}, "permissions", "A key can&#x27;t have this scope."),
        ({"permissions": ["account.read", "openid"]}, "permissions", "A key can&#x27;t have this scope."),
        ({"expires_on": "2020-01-01"}, "expires_on", "This day is in the past"),
        ({"expires_on": "9999-12-31"}, "expires_on", "within the next ten years"),
        ({"expires_on": "2031-02-30"}, "expires_on", "Enter the day as"),
    ],
)
def test_errors_are_shown_next_to_their_fields(
    as_developer: Browser, project: Project, changes: dict[str, Any], field: str, said: str
) -> None:
    response = new(as_developer, project, **changes)
    assert response.status_code == 200
    assert response.context["form"].errors.keys() == {field}
    assert said in response.content.decode()
    assert not ApiKey.objects.exists()


def test_a_key_works_through_its_last_day(
    as_developer: Browser, project: Project, later: Callable[[float], None]
) -> None:
    today = clock.now().astimezone(UTC).date()
    raw = raw_in(new(as_developer, project, expires_on=(today + timedelta(days=1)).isoformat()))
    ends = ApiKey.objects.get().expires_at
    assert ends == datetime(today.year, today.month, today.day, tzinfo=UTC) + timedelta(days=2)
    later((ends - clock.now()).total_seconds() - 1)
    assert me(raw).status_code == 200
    later(1)
    assert me(raw).status_code == 401


def test_the_limit_of_keys_is_shown(as_developer: Browser, project: Project, owner: Account, settings: Any) -> None:
    settings.KEYS_PER_PROJECT = 1
    make_key(project, owner)
    assert "which is the maximum" in new(as_developer, project).content.decode()
    assert ApiKey.objects.count() == 1


def revoke(browser: Browser, key: ApiKey) -> Any:
    return browser.post(at("key_revoke", key.project, key_id=key.public_id))


def test_developers_can_revoke_their_own_keys(as_developer: Browser, developer: Account, project: Project) -> None:
    key, raw = make_key(project, developer)
    page = as_developer.get(at("key_revoke", project, key_id=key.public_id)).content.decode()
    assert "within 30 seconds" in page
    assert is_nowhere(raw[20:], page)
    assert me(raw).status_code == 200
    assert revoke(as_developer, key)["Location"] == at("keys", project)
    assert me(raw).status_code == 401
    (event,) = trail("api_key.revoked")
    assert (event.actor, event.target, event.before["name"]) == (developer, key.public_id, "A script")


def test_developers_can_not_revoke_keys_of_others(as_developer: Browser, owner: Account, project: Project) -> None:
    key, raw = make_key(project, owner)
    assert revoke(as_developer, key).status_code == 403
    assert me(raw).status_code == 200
    page = as_developer.get(at("keys", project)).content.decode()
    assert at("key_revoke", project, key_id=key.public_id) not in page


def test_former_developers_can_still_revoke_their_own_keys(
    as_developer: Browser, developer: Account, project: Project
) -> None:
    key, raw = make_key(project, developer)
    ProjectMember.objects.filter(account=developer).update(role="viewer")
    assert revoke(as_developer, key).status_code == 302
    assert me(raw).status_code == 401


def test_an_owner_revokes_any_key_and_twice_is_recorded_once(
    as_owner: Browser, owner: Account, developer: Account, project: Project
) -> None:
    key, raw = make_key(project, developer)
    for _ in range(2):
        assert revoke(as_owner, key).status_code == 302
    assert (
        "This key is already revoked." in as_owner.get(at("key_revoke", project, key_id=key.public_id)).content.decode()
    )
    assert me(raw).status_code == 401
    (event,) = trail("api_key.revoked")
    assert event.actor == owner


@pytest.fixture
def calendar() -> Api:
    return make_api(name="Orbit <Calendar>")


def test_permissions_are_grouped_by_api(as_developer: Browser, project: Project, calendar: Api) -> None:
    page = BeautifulSoup(as_developer.get(at("key_new", project)).content, "html.parser")
    assert "/v1/me" not in new(as_developer, project, permissions=["calendar.read"]).content.decode()
    form = page.select_one("main form")
    assert form is not None
    parts = [part.get_text() for part in form.select("p.api-name, .choice code")]
    assert parts == ["Openport account API", "account.read", "Orbit <Calendar>", "calendar.read", "calendar.write"]
    assert "See your calendar" in form.get_text()


def test_a_key_lists_its_permissions_with_their_apis(as_developer: Browser, project: Project, calendar: Api) -> None:
    response = new(as_developer, project, permissions=["calendar.read", "account.read"])
    assert "/v1/me" in response.content.decode()
    key = ApiKey.objects.get()
    listed, rotate = (
        BeautifulSoup(as_developer.get(page).content, "html.parser").get_text()
        for page in (at("keys", project), at("key_rotate", project, key_id=key.public_id))
    )
    assert "Orbit <Calendar>: See your calendar" in rotate
    for text in (listed, rotate):
        assert "calendar.read" in text
        assert "account.read" in text


def test_permissions_that_keys_can_not_have_are_refused(as_developer: Browser, project: Project, calendar: Api) -> None:
    ApiScope.objects.filter(name="calendar.write").update(api_keys=False)
    reload_registry()
    assert "have this scope" in new(as_developer, project, permissions=["calendar.write"]).content.decode()
    calendar.enabled = False
    calendar.save()
    reload_registry()
    assert "have this scope" in new(as_developer, project, permissions=["calendar.read"]).content.decode()
    assert not ApiKey.objects.exists()


def test_the_filter_finds_whole_permissions(as_developer: Browser, project: Project, calendar: Api) -> None:
    ApiScope.objects.create(api=calendar, name="calendar.read.all", title="See all calendars")
    reload_registry()
    held = {"Short": ["account.read", "calendar.read"], "Long": ["account.read", "calendar.read.all"]}
    for name, permissions in held.items():
        new(as_developer, project, name=name, permissions=permissions)
    found = as_developer.get(at("keys", project), {"permission": "calendar.read"})
    assert [row.row.name for row in found.context["rows"]] == ["Short"]


def test_viewers_can_not_create_keys(as_viewer: Browser, project: Project) -> None:
    assert as_viewer.get(at("key_new", project)).status_code == 403
    fields = {"once": "x" * 22, "name": "Report", "permissions": "account.read"}
    assert as_viewer.post(at("key_new", project), fields).status_code == 403
    assert not ApiKey.objects.exists()
