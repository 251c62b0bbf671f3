"""Declaring APIs in the admin: forms with scopes and rules, actions, credentials, and who may do what."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core.credentials import digest
from oidc.apis.credentials import MAX_LIVE_CREDENTIALS, create_credential
from oidc.apis.declarations import rule_lines
from oidc.models import Api, ApiCredential, ApiScope
from tests.devportal.admin.conftest import last_event
from tests.factories import make_access_token, make_account, make_api, make_client

pytestmark = pytest.mark.django_db

ADD = "/admin/oidc/api/add/"
API: dict[str, Any] = {
    "slug": "calendar",
    "name": "Orbit Calendar",
    "identifier": "https://calendar.example.com",
    "description": "",
    "documentation_url": "",
    "openapi_url": "",
    "enabled": "on",
    "calls_per_minute": "600",
    "calls_per_person_per_minute": "120",
    "rule_lines": "",
}


def scopes(*rows: dict[str, Any], initial: int = 0) -> dict[str, Any]:
    """Return the fields of the scopes; `initial` of them exist."""
    form = {"scopes-TOTAL_FORMS": str(len(rows)), "scopes-INITIAL_FORMS": str(initial)}
    for number, row in enumerate(rows):
        form |= {f"scopes-{number}-{name}": str(value) for name, value in row.items()}
    return form


READ = {"name": "calendar.read", "title": "See your events", "description": "", "api_keys": "on"}


def existing(api: Api, **changes: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the API's scopes as its page sends them, with changes by name ("." as "_")."""
    rows = []
    for scope in api.scopes.order_by("pk"):
        row: dict[str, Any] = {"id": scope.pk, "name": scope.name, "title": scope.title, "description": ""}
        row |= {name: "on" for name in ("sensitive", "needs_approval", "api_keys") if getattr(scope, name)}
        row |= changes.get(scope.name.replace(".", "_"), {})
        rows.append({name: value for name, value in row.items() if value is not None})
    return scopes(*rows, initial=len(rows))


def of(api: Api) -> dict[str, Any]:
    """Return the fields of an API as its page sends them."""
    values = API | {"name": api.name, "identifier": api.identifier, "rule_lines": "\r\n".join(rule_lines(api))}
    return {name: value for name, value in values.items() if name not in ("slug", "enabled")}


def change_url(api: Api) -> str:
    return f"/admin/oidc/api/{api.pk}/change/"


def press(browser: Browser, row: Api | ApiCredential, action: str, **form: Any) -> str:
    kind = "api" if isinstance(row, Api) else "apicredential"
    response = browser.post(f"/admin/oidc/{kind}/{row.pk}/do/{action}/", form | {"confirm": "1"}, follow=True)
    assert response.status_code == 200
    text: str = response.content.decode()
    return text


def test_an_operator_declares_an_api(as_operator: Browser, operator: Account) -> None:
    assert as_operator.get(ADD).status_code == 200
    write = {"name": "calendar.write", "title": "Change your events", "description": "", "sensitive": "on"}
    rules = "GET /events* calendar.read\r\n\r\n *   /*  calendar.write \r\n"
    response = as_operator.post(ADD, API | {"rule_lines": rules} | scopes(READ, write))
    assert response.status_code == 302, response.content.decode()
    api = Api.objects.get(slug="calendar")
    assert (api.name, api.enabled, api.calls_per_minute) == ("Orbit Calendar", True, 600)
    assert rule_lines(api) == ["GET /events* calendar.read", "* /* calendar.write"]
    read, change = api.scopes.order_by("pk")
    assert (read.sensitive, read.api_keys, change.sensitive, change.api_keys) == (False, True, True, False)
    event = last_event()
    assert (event.action, event.actor, event.target) == ("api.declared", operator, "api:calendar")
    assert "Orbit Calendar" in as_operator.get("/admin/oidc/api/").content.decode()
    assert "See your events" in as_operator.get(change_url(api)).content.decode()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"slug": "account"}, "The service itself uses this slug"),
        ({"identifier": "http://calendar.example.com"}, "has to begin with https"),
        ({"documentation_url": "javascript:alert(1)"}, "not an absolute URL"),
        ({"name": "a\u202eb"}, "invisible characters"),
        ({"calls_per_minute": "0"}, "Enter a number from 1"),
        ({"calls_per_minute": ""}, "This field is required"),
        ({"rule_lines": "GET /events"}, "Line 1: Enter a method, a path and a scope"),
        ({"rule_lines": "\r\nget /events calendar.read"}, "Line 2: A method is *"),
        ({"rule_lines": "GET /* account.read"}, "A rule needs the scope account.read"),
        ({"rule_lines": "GET /* calendar.read\n" * 101}, "at most 100 rules"),
        ({"rule_lines": "x" * 50_001}, "at most 50000 characters"),
        ({"scopes-0-name": "openid"}, "belongs to the service itself"),
        ({"scopes-0-name": "x" * 101}, "at most 100 characters"),
        ({"scopes-0-name": "tasks.read"}, "already exists"),
        ({"scopes-0-title": ""}, "This field is required"),
        ({"scopes-0-description": "x" * 2001}, "at most 2000 characters"),
        ({"identifier": "https://tasks.example.com"}, "already exists"),
        ({"slug": "tasks"}, "already exists"),
    ],
)
def test_wrong_values_give_form_errors(as_operator: Browser, changes: dict[str, str], text: str) -> None:
    make_api("tasks")
    response = as_operator.post(ADD, API | scopes(READ) | changes)
    assert response.status_code == 200
    assert text in response.content.decode()
    assert Api.objects.count() == 1


def test_a_malformed_form_breaks_nothing(as_operator: Browser) -> None:
    for management in ({"scopes-TOTAL_FORMS": "x"}, {"scopes-INITIAL_FORMS": "9"}, {"scopes-0-id": "9" * 40}):
        assert as_operator.post(ADD, API | scopes(READ) | management).status_code == 200
    assert not Api.objects.exists()


def test_a_scope_named_twice_is_a_form_error(as_operator: Browser) -> None:
    response = as_operator.post(ADD, API | scopes(READ, READ))
    assert response.status_code == 200
    assert "duplicate" in response.content.decode()


def test_an_operator_changes_an_api(as_operator: Browser, operator: Account) -> None:
    api = make_api(rules=[("*", "/*", "calendar.read")])
    form = of(api) | {"name": "Orbit", "slug": "other", "enabled": ""}
    renamed = existing(api, calendar_read={"title": "See your events", "name": "email"})
    assert as_operator.post(change_url(api), form | renamed).status_code == 302
    api.refresh_from_db()
    assert (api.slug, api.name, api.enabled) == ("calendar", "Orbit", True)
    assert ApiScope.objects.get(name="calendar.read").title == "See your events"
    event = last_event()
    assert (event.action, event.actor) == ("api.changed", operator)
    assert set(event.after) == {"name", "scope calendar.read"}


def test_a_scope_in_use_is_not_removed(as_operator: Browser) -> None:
    api = make_api()
    make_access_token(make_client(), make_account(), ["openid", "calendar.read"], api.identifier)
    remove = {"DELETE": "on"}
    response = as_operator.post(change_url(api), of(api) | existing(api, calendar_read=remove))
    assert response.status_code == 200
    assert "calendar.read can&#x27;t be deleted: at least one person has granted it" in response.content.decode()
    assert as_operator.post(change_url(api), of(api) | existing(api, calendar_write=remove)).status_code == 302
    assert [scope.name for scope in api.scopes.all()] == ["calendar.read"]


def test_a_scope_that_a_rule_needs_is_not_removed(as_operator: Browser) -> None:
    api = make_api(rules=[("*", "/*", "calendar.write")])
    form = of(api) | existing(api, calendar_write={"DELETE": "on"})
    assert "A rule needs the scope calendar.write" in as_operator.post(change_url(api), form).content.decode()
    assert as_operator.post(change_url(api), form | {"rule_lines": ""}).status_code == 302
    assert not ApiScope.objects.filter(name="calendar.write").exists()


def test_a_change_at_the_same_time_is_explained(as_operator: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """The form was valid, and then someone else used the scope."""
    api = make_api()
    monkeypatch.setattr("oidc.apis.admin_forms.use_messages", lambda scope: [])
    make_client(approved_scopes="calendar.write")
    form = of(api) | existing(api, calendar_write={"DELETE": "on"})
    response = as_operator.post(change_url(api), form, follow=True)
    assert "Nothing was saved. calendar.write can&#x27;t be deleted" in response.content.decode()


def test_turning_an_api_off_takes_a_reason(as_operator: Browser, operator: Account) -> None:
    api = make_api()
    assert as_operator.get(f"/admin/oidc/api/{api.pk}/do/off/").status_code == 200
    press(as_operator, api, "off")
    assert Api.objects.filter(enabled=True).exists()
    assert "The API is off" in press(as_operator, api, "off", reason="It leaks.")
    assert Api.objects.filter(enabled=False).exists()
    event = last_event()
    assert (event.action, event.actor, event.details) == ("api.turned_off", operator, {"reason": "It leaks."})
    assert "not possible now" in press(as_operator, api, "off", reason="Again.")
    assert "The API is on" in press(as_operator, api, "on")


def test_an_unused_api_is_deleted_and_a_used_one_is_not(as_operator: Browser) -> None:
    api = make_api()
    client = make_client(approved_scopes="calendar.write")
    assert "Turn the API off instead. calendar.write can&#x27;t be deleted" in press(as_operator, api, "delete")
    client.delete()
    assert "is deleted" in press(as_operator, api, "delete")
    assert not Api.objects.exists()
    assert as_operator.post(f"/admin/oidc/api/{api.pk}/delete/", {"post": "yes"}).status_code in (302, 403, 404)


def test_a_new_credential_is_shown_once(as_operator: Browser, operator: Account) -> None:
    api = make_api()
    response = as_operator.post(f"/admin/oidc/api/{api.pk}/do/credential/", {"confirm": "1"})
    row = ApiCredential.objects.get()
    text = response.content.decode()
    raw = text.partition('id="credential-secret">')[2].partition("<")[0]
    assert digest(raw) == row.digest
    assert f"CREDENTIAL_ID={row.public_id}\nCREDENTIAL_SECRET={raw}\n" in text
    assert 'data-download-as="api.env"' in text
    assert "/docs/guides/protect-your-api" in text
    assert text.count("API credentials") == 2, "in the menu and above the page"
    assert "no-store" in response["Cache-Control"]
    assert row.created_by == operator
    for url in (
        f"/admin/oidc/apicredential/{row.pk}/change/",
        "/admin/oidc/apicredential/",
        "/admin/console/auditevent/",
    ):
        assert raw not in as_operator.get(url).content.decode()
    assert (last_event().action, last_event().target) == ("api_credential.created", row.public_id)


def test_too_many_credentials_are_refused(as_operator: Browser) -> None:
    api = make_api()
    rows = [create_credential(api)[0] for _ in range(MAX_LIVE_CREDENTIALS)]
    assert "which is the maximum" in press(as_operator, api, "credential")
    assert "which is the maximum" in press(as_operator, rows[0], "rotate", overlap="3600")
    assert ApiCredential.objects.count() == MAX_LIVE_CREDENTIALS
    rows[0].refresh_from_db()
    assert rows[0].expires_at is None


def test_a_credential_is_rotated_and_revoked(as_operator: Browser) -> None:
    old, _ = create_credential(make_api())
    for wrong in ("", "x", "-1", "99999999"):
        press(as_operator, old, "rotate", overlap=wrong)
    assert ApiCredential.objects.count() == 1
    assert "Store the secret now" in press(as_operator, old, "rotate", overlap="86400")
    old.refresh_from_db()
    assert (old.state, old.expires_at is None) == ("live", False)
    assert "is revoked" in press(as_operator, old, "revoke")
    old.refresh_from_db()
    assert old.state == "revoked"
    assert "not possible now" in press(as_operator, old, "rotate", overlap="86400")
    assert ApiCredential.objects.live().count() == 1


def test_reviewers_only_read(as_reviewer: Browser) -> None:
    api = make_api(rules=[("*", "/*", "calendar.read")])
    text = as_reviewer.get(change_url(api)).content.decode()
    assert "calendar.write" in text
    assert "* /* calendar.read" in text
    assert "Turn off" not in text
