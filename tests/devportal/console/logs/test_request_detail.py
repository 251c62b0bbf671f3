"""The page of one call: all that is known of it, its fix, the docs of its error, and the call as a curl command."""

import subprocess
from typing import Any

import pytest
from django.test import Client as Browser
from django.urls import reverse

from api import usage_counts
from api.errors import KNOWN_ERRORS
from api.models import RequestLog
from core import clock
from devportal.console.logs.request_log import CODES
from devportal.review.models import AppReview
from oidc.models import Client, Project
from tests.api.calls import ME, call
from tests.devportal.console.logs.test_request_log import log
from tests.factories import make_api, make_client, make_key, make_project


def address(row: RequestLog | str, project: Project | None) -> str:
    assert project is not None
    return reverse("console:request_detail", args=[project.public_id, row.pk if isinstance(row, RequestLog) else row])


def page(browser: Browser, row: RequestLog) -> str:
    response = browser.get(address(row, row.project))
    assert response.status_code == 200
    return str(response.content.decode())


def test_an_entry_shows_all_details_of_a_call(as_viewer: Browser, project: Project) -> None:
    key, raw = make_key(project)
    response = call(ME, raw)
    usage_counts.flush_usage()
    text = page(as_viewer, RequestLog.objects.get())
    sub = response.json()["id"]
    for shows in ("GET /v1/me", ">200<", "A script", key.masked, f"{sub[:4]}…{sub[-4:]}", "UTC</time>", " ms</dd>"):
        assert shows in text, shows
    assert f'data-copy="{response["X-Request-ID"]}"' in text
    assert "Bearer $API_KEY" in text
    assert "What to do" not in text
    assert sub not in text
    assert raw not in text


def test_a_call_of_a_client_links_to_the_client(as_viewer: Browser, project: Project) -> None:
    client = make_client(project, name="Web Notes")
    text = page(as_viewer, log(project, client=client.client_id))
    assert reverse("console:client_settings", args=[project.public_id, client.client_id]) in text
    assert f"?who={client.client_id}" in text
    assert "Bearer $ACCESS_TOKEN" in text
    gone = page(as_viewer, log(project, client="op_client_gone"))
    assert "An app that was deleted" in gone


def test_every_error_has_its_fix_and_its_docs(as_owner: Browser, project: Project) -> None:
    assert CODES
    for code in CODES:
        text = page(as_owner, log(project, status=400, code=code))
        assert 'id="fix"' in text, code
        assert "The docs explain the cause and the fix." not in text, code
        assert f"/docs/errors#api-{code}" in text
        assert KNOWN_ERRORS[code].cause.replace("'", "&#x27;") in text


def fix(browser: Browser, row: RequestLog) -> Any:
    return browser.get(address(row, row.project)).context["fix"]


def test_a_missing_scope_is_explained(as_owner: Browser, project: Project) -> None:
    key, client = make_key(project)[0], make_client(project)
    values = {"status": 403, "code": "insufficient_scope"}
    found = fix(as_owner, log(project, credential=key.public_id, **values))
    assert found.url.endswith("/keys/new")
    assert found.text.startswith("The key has no scope of this API. The scopes of a key")
    plan = log(
        project, client=client.client_id, parameters={"one_of": ["account.read"], "has": ["email", "openid"]}, **values
    )
    found = fix(as_owner, plan)
    assert found.url.endswith("/review")
    assert found.text == (
        "The call needs the scope account.read. The token has the scopes email, openid. The scope account.read needs "
        "app review first. Request it there."
    )
    me = log(project, client=client.client_id, parameters={"one_of": ["profile", "email"], "has": ["openid"]}, **values)
    assert fix(as_owner, me).url.startswith("/docs/")
    assert "The call needs one of the scopes profile, email. The token has the scope openid." in fix(as_owner, me).text
    Client.objects.filter(pk=client.pk).update(approved_scopes="account.read")
    assert fix(as_owner, plan).url.startswith("/docs/")


READ_AND_WRITE = {"needs": ["calendar.read", "calendar.write"], "has": ["calendar.read"]}
NEEDS = "The call needs the scopes calendar.read, calendar.write. The token has the scope calendar.read."
OF_WRITE = f"{NEEDS} The scope calendar.write"


@pytest.mark.parametrize(
    ("facts", "status", "expected"),
    [
        (READ_AND_WRITE, None, f"{OF_WRITE} needs app review first. Request it there."),
        (READ_AND_WRITE, "draft", f"{OF_WRITE} is in a review that you have not submitted yet. Submit it."),
        (READ_AND_WRITE, "submitted", f"{OF_WRITE} is waiting for review. Request it at sign-in once it is approved."),
        (
            READ_AND_WRITE,
            "approved",
            f"{NEEDS} Request the scope calendar.write in the authorization request. People are asked again, and new "
            "tokens have it.",
        ),
        (
            {"has": []},
            None,
            "The token has no scope of this API that is still granted and approved. Request a scope of the API in the "
            "authorization request. People are asked again, and new tokens have it.",
        ),
        ({"needs": [], "has": ["calendar.read"]}, None, "The proxy in front of the API requires a scope that the API"),
    ],
)
def test_a_missing_scope_of_an_api_of_the_company(
    as_owner: Browser, project: Project, facts: dict[str, Any], status: str | None, expected: str
) -> None:
    make_api()
    client = make_client(project)
    if status == "approved":
        Client.objects.filter(pk=client.pk).update(approved_scopes="calendar.write")
    elif status:
        AppReview.objects.create(
            client=client, number=1, created_at=clock.now(), status=status, snapshot={"scopes": {"calendar.write": ""}}
        )
    row = log(project, client=client.client_id, api="calendar", status=403, code="insufficient_scope", parameters=facts)
    assert fix(as_owner, row).text.startswith(expected)


def test_a_token_for_another_api_is_explained(as_owner: Browser, project: Project) -> None:
    facts = {"audience": "https://calendar.example.com", "resource": "http://localhost:8000"}
    client = make_client(project)
    row = log(project, client=client.client_id, status=401, code="invalid_token", parameters=facts)
    assert fix(as_owner, row).text.startswith("The token is for the API https://calendar.example.com.")
    assert "with the resource http://localhost:8000" in fix(as_owner, row).text


def test_a_rejected_key_or_token_is_explained(as_owner: Browser, project: Project) -> None:
    key, client = make_key(project)[0], make_client(project)
    refused = log(project, credential=key.public_id, status=401, code="invalid_api_key")
    assert fix(as_owner, refused).url.endswith("/keys")
    key.revoked_at = clock.now()
    key.save()
    assert fix(as_owner, refused).url.endswith("/keys/new")
    expired = log(project, client=client.client_id, status=401, code="invalid_token")
    assert fix(as_owner, expired).url.endswith("/tokens#refresh")
    Client.objects.filter(pk=client.pk).update(enabled=False)
    assert fix(as_owner, expired).url.endswith("#switch")


def test_people_without_permission_see_who_can_fix_it(
    as_viewer: Browser, as_developer: Browser, project: Project
) -> None:
    row = log(project, status=403, code="insufficient_scope", credential="x")
    link = f'href="{reverse("console:key_new", args=[project.public_id])}"'
    assert link in page(as_developer, row)
    text = page(as_viewer, row)
    assert link not in text
    assert "A developer or owner of the project can" in text


@pytest.mark.parametrize(
    ("path", "is_whole"), [("/v1/me", True), ("/v1/…/plan", False), ("nonsense", False), ("/v1/a'b$(x)", True)]
)
def test_an_entry_shows_the_call_as_curl(path: str, is_whole: bool, as_viewer: Browser, project: Project) -> None:
    command = as_viewer.get(address(log(project, path=path), project)).context["curl"]
    assert bool(command) == is_whole
    if is_whole:
        said = subprocess.run(  # the shell is what is tested
            command.replace("curl", "printf '%s\\n'", 1), shell=True, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        assert said[-1].endswith(path)
        assert "Authorization: Bearer " in said


def test_a_deleted_entry_shows_a_message(as_viewer: Browser, project: Project, settings: Any) -> None:
    settings.REQUEST_LOG_DAYS = 17
    row = log(project)
    row.delete()
    for entry in ("123456", "0", "9" * 18):
        response = as_viewer.get(address(entry, project))
        assert response.status_code == 404
        assert "after 17 days" in response.content.decode()
        assert reverse("console:requests", args=[project.public_id]) in response.content.decode()


def test_an_entry_of_another_project_is_not_found(as_viewer: Browser, project: Project) -> None:
    row = log(make_project(), path="/v1/secret")
    response = as_viewer.get(address(row, project))
    assert response.status_code == 404
    assert "/v1/secret" not in response.content.decode()


def test_hostile_values_are_escaped(as_viewer: Browser, project: Project) -> None:
    hostile = '"><script>alert(1)</script>'
    text = page(as_viewer, log(project, client=hostile, request_id=hostile, path=hostile, method="<b>", subject="<b>"))
    assert "<script>alert" not in text
    assert "<b>" not in text


def test_a_call_to_another_api_names_it_and_leads_to_the_permissions(as_viewer: Browser, project: Project) -> None:
    make_api(name="Orbit <Calendar>")
    client = make_client(project)
    values = {"api": "calendar", "method": "POST", "path": "/connect/introspect", "client": client.client_id}
    text = page(as_viewer, log(project, **values, status=403, code="insufficient_scope"))
    assert "Orbit &lt;Calendar&gt;" in text
    assert "?api=calendar" in text
    assert f"{reverse('console:client_settings', args=[project.public_id, client.client_id])}#scopes" in text
    assert "Try it again" not in text
