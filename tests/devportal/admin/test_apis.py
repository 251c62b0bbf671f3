"""Declaring APIs in the admin: forms with scopes and rules, actions, credentials, and who may do what."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client as Browser
from django.utils.html import escape

from accounts.models import Account
from core.credentials import digest
from devportal.console.models import AuditEvent
from oidc.apis.credentials import MAX_LIVE_CREDENTIALS, create_credential
from oidc.apis.declarations import rule_lines, rules_of
from oidc.apis.rule_tables import write_rules
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
    "rule_tables": "",
}


def scopes(*rows: dict[str, Any], initial: int = 0) -> dict[str, Any]:
    """Return the fields of the scopes; `initial` of them exist."""
    form = {"scopes-TOTAL_FORMS": str(len(rows)), "scopes-INITIAL_FORMS": str(initial)}
    for number, row in enumerate(rows):
        form |= {f"scopes-{number}-{name}": str(value) for name, value in row.items()}
    return form


def rule(**changes: Any) -> str:
    """Return a rule as text, with changes by key."""
    values = {"method": "GET", "path": "/events*", "scope": "calendar.read"} | changes
    return "\n".join(["[[apis.rules]]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())])


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
    values = API | {"name": api.name, "identifier": api.identifier, "rule_tables": write_rules(rules_of(api))}
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
    rules = write_rules([("GET", "/events*", "calendar.read"), ("*", "/*", "calendar.write")])
    sent = "# Calendar\r\n" + rules.replace("\n", "\r\n")
    response = as_operator.post(ADD, API | {"rule_tables": sent} | scopes(READ, write))
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
        ({"rule_tables": "GET /events* calendar.read"}, "This is not valid TOML"),
        ({"rule_tables": "[[" * 200}, "This is not valid TOML"),
        ({"rule_tables": "[\n" * 20_000}, "This is not valid TOML"),
        ({"rule_tables": f"x = {'[' * 400}\n{'[' * 400}\n{'[' * 400}"}, "This is not valid TOML"),
        ({"rule_tables": ".".join("a" * 500) + " = 1"}, "A line may have at most 500 characters"),
        ({"rule_tables": ".".join(['"\u2028"'] * 200) + " = 1"}, "A line may have at most 500 characters"),
        ({"rule_tables": '[[rules]]\nmethod = "GET"'}, "Each one begins with the line [[apis.rules]]"),
        ({"rule_tables": "apis = 1"}, "Each one begins with the line [[apis.rules]]"),
        ({"rule_tables": "[apis]\nrules = 1"}, "Each one begins with the line [[apis.rules]]"),
        ({"rule_tables": '[[apis.rules]]\nmethod = "GET"\npath = "/events"'}, "Rule 1: Enter method, path and scope"),
        ({"rule_tables": "apis.rules = [1]"}, "Rule 1: Enter method, path and scope"),
        ({"rule_tables": f"{rule()}\n{rule(scope=1)}"}, "Rule 2: Enter method, path and scope"),
        ({"rule_tables": f"{rule()}\n{rule(name='x')}"}, "Rule 2: Enter method, path and scope"),
        ({"rule_tables": f"{rule()}\n{rule(method='get')}"}, "Rule 2: A method is *"),
        ({"rule_tables": rule(scope="account.read")}, "A rule needs the scope account.read"),
        ({"rule_tables": f"{rule()}\n" * 101}, "at most 100 rules"),
        ({"rule_tables": "x" * 50_001}, "at most 50000 characters"),
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


def test_the_page_shows_rules_as_the_guides_do(as_operator: Browser) -> None:
    """The operator can copy the rules from a guide, and save the page without changing them."""
    api = make_api(rules=[("GET", "/events*", "calendar.read"), ("*", "/events*", "calendar.write")])
    guide = as_operator.get("/docs/guides/protect-nginx", {"api": api.slug}).content.decode()
    shown = unescape(re.sub("<[^>]+>", "", guide))
    assert write_rules(rules_of(api)) in shown
    form = of(api)
    assert escape(form["rule_tables"]) in as_operator.get(change_url(api)).content.decode()
    events = AuditEvent.objects.count()
    assert as_operator.post(change_url(api), form | existing(api)).status_code == 302
    assert AuditEvent.objects.count() == events


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
    assert as_operator.post(change_url(api), form | {"rule_tables": ""}).status_code == 302
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
    assert "path = &quot;/*&quot;" in text
    assert "Turn off" not in text
