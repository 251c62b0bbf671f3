"""/docs/api/: every endpoint of the OpenAPI document, called as the API answers, and never a secret on the page."""

import re
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from api import usage_counts
from api.me import MeView
from api.models import ApiKey, RequestLog
from api.schema_views import openapi_document
from core import clock
from devportal.docs.rendering import kept
from devportal.docs.try_it import code_blocks, operations
from oidc.models import Project
from tests.factories import make_account, make_key, make_project

PATH = "/docs/api/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def own(as_developer: Browser, project: Project, developer: Account) -> ApiKey:
    return make_key(project, developer)[0]


def send(browser: Browser, endpoint: str = "read_me", **fields: str) -> Any:
    return browser.post(f"{PATH}?endpoint={endpoint}", fields)


def test_it_lists_every_endpoint_with_its_answers(client: Browser) -> None:
    page = client.get(PATH).content.decode()
    for path, methods in openapi_document()["paths"].items():
        assert path in page
        for status in methods["get"]["responses"]:
            assert f"<code>{status}</code>" in page
    assert operations()["read_me"].scopes == MeView.required_scopes
    assert operations()["read_my_plan"].parameters[0][0] == "If-None-Match"
    assert "insufficient_scope" in page


def test_an_own_key_is_used_without_its_secret(as_developer: Browser, own: ApiKey, developer: Account) -> None:
    page = send(as_developer, source="own", key=own.public_id)
    html = page.content.decode()
    assert page.context["outcome"].exchange.answer["email"] == developer.email
    assert "200 OK" in html
    assert "ratelimit-limit" in html
    usage_counts.flush_usage()
    entry = RequestLog.objects.get()
    assert (entry.credential, entry.status, entry.path) == (own.public_id, 200, "/v1/me")
    assert page.context["outcome"].log_url.endswith(f"request_id={entry.request_id}")


def test_the_field_of_the_other_choice_is_ignored(as_developer: Browser, own: ApiKey, project: Project) -> None:
    page = send(as_developer, source="own", key=own.public_id, credential="no key at all")
    assert page.context["outcome"].exchange.answer["email"]
    _, raw = make_key(project, own.owner)
    page = send(as_developer, source="pasted", key="no such key", credential=raw)
    assert page.context["outcome"].exchange.answer["email"]


def test_calls_are_not_cached_in_the_process(as_developer: Browser, own: ApiKey, developer: Account) -> None:
    as_developer.get(f"{PATH}?endpoint=read_my_plan")  # with the examples of the document, which are always the same
    before = kept.cache_info().currsize
    html = send(as_developer, "read_my_plan", source="own", key=own.public_id, header_0='"mine"').content.decode()
    assert "answer-body" in html
    assert kept.cache_info().currsize == before


def test_keys_of_others_can_not_be_selected(as_owner: Browser, own: ApiKey) -> None:
    page = send(as_owner, source="own", key=own.public_id)
    assert page.context["outcome"] is None
    assert own.name not in as_owner.get(PATH).content.decode()


def test_revoked_and_expired_keys_are_not_offered(as_developer: Browser, own: ApiKey) -> None:
    ApiKey.objects.update(expires_at=clock.now())
    assert send(as_developer, source="own", key=own.public_id).context["outcome"] is None


def test_internal_credentials_are_rejected_from_outside(as_developer: Browser, client: Browser, own: ApiKey) -> None:
    assert send(as_developer, source="own", key=own.public_id).context["outcome"].exchange.status == 200
    assert as_developer.get("/v1/me", headers={"Authorization": "Bearer in-process"}).status_code == 401
    for source in ("own", "pasted", ""):
        assert send(client, source=source, key=own.public_id).context["outcome"] is None, "nobody is signed in"
    for credential in ("in-process", own.public_id, f"op_key_{own.public_id}"):
        assert client.get("/v1/me", headers={"Authorization": f"Bearer {credential}"}).status_code == 401


def test_the_permissions_of_a_key_apply(as_developer: Browser, project: Project, developer: Account) -> None:
    key, _ = make_key(project, developer, permissions=[])
    outcome = send(as_developer, source="own", key=key.public_id).context["outcome"]
    assert (outcome.exchange.status, outcome.exchange.error) == (403, "insufficient_scope")
    assert "www-authenticate" in outcome.exchange.headers


def test_a_pasted_key_works_for_everyone_and_is_never_shown(client: Browser) -> None:
    owner = make_account("olga@example.com")
    _, raw = make_key(make_project(owner), owner)
    page = send(client, source="pasted", credential=raw)
    assert page.context["outcome"].exchange.answer["email"] == owner.email
    assert page.context["outcome"].log_url == "", "the log is not theirs to read"
    assert raw not in page.content.decode()
    assert "$API_KEY" in page.content.decode()
    wrong = send(client, source="pasted", credential=f"{raw} x")
    assert raw not in wrong.content.decode()


@pytest.mark.parametrize("credential", ["", "a b", "ä", "x" * 5000, "a\r\nX-Other: b"])
def test_an_invalid_credential_is_reported_and_not_sent(client: Browser, credential: str) -> None:
    page = send(client, source="pasted", credential=credential)
    assert page.status_code == 200
    assert page.context["outcome"] is None
    assert page.context["form"].errors


def test_an_etag_is_answered_with_304(as_developer: Browser, own: ApiKey) -> None:
    first = send(as_developer, "read_my_plan", source="own", key=own.public_id).context["outcome"].exchange
    assert first.status == 200
    again = send(as_developer, "read_my_plan", source="own", key=own.public_id, header_0=first.headers["etag"])
    assert again.context["outcome"].exchange.status == 304
    assert "If-None-Match" in again.content.decode()


@pytest.mark.parametrize("value", ["ä", "a\nb", "x" * 300])
def test_an_invalid_header_is_rejected(as_developer: Browser, own: ApiKey, value: str) -> None:
    page = send(as_developer, "read_my_plan", source="own", key=own.public_id, header_0=value)
    assert page.context["outcome"] is None
    assert "header_0" in page.context["form"].errors


def test_it_is_protected_against_forged_posts() -> None:
    assert Browser(enforce_csrf_checks=True).post(PATH, {"source": "pasted", "credential": "x"}).status_code == 403


def test_a_header_stays_inside_its_quotes() -> None:
    said = """"'`$(id)${x}\\%\""""
    for block in code_blocks(operations()["read_my_plan"], {"If-None-Match": said}):
        assert "If-None-Match" in block["code"]
        assert "&quot;" not in block["code"]


def test_the_page_has_no_inline_or_external_scripts(client: Browser) -> None:
    page = client.get(PATH)
    html = page.content.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", html, re.IGNORECASE)
    assert all(re.search(r"\ssrc=", tag) for tag in re.findall(r"<script[^>]*>", html))
    assert "'unsafe" not in page["Content-Security-Policy"]
    assert "no-store" in page["Cache-Control"]
