"""/docs/: complete, true to the code and the settings, and there for everyone."""

import html
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any
from unittest import mock

import pytest
from django.db import OperationalError
from django.test import Client as Browser
from django.test import override_settings
from django.urls import reverse

from accounts.models.plans import State
from api.errors import ERRORS_BEFORE_ENDPOINTS, KNOWN_ERRORS
from devportal.docs import context, errors
from devportal.docs.pages import PAGES
from oidc.apis.registry import Registry, use_registry
from oidc.apis.scopes import known_scopes
from oidc.authorization.requests import PROMPTS
from oidc.models.clients import MULTI_FACTOR, PHISHING_RESISTANT
from oidc.values.reasons import AUTHORIZATION, reasons_at
from tests.factories import make_client
from tests.oidc.tokens.test_code_exchange import error_of
from tests.relying_party import RelyingParty, basic, claims_of

NAMES = list(PAGES)


@pytest.fixture
def party(signed_in: Browser) -> RelyingParty:
    """A browser app, and the browser of a person who is signed in."""
    return RelyingParty(make_client(), signed_in)


def path_of(name: str) -> str:
    return reverse(f"docs_{name}")


def text_of(name: str, browser: Browser, query: str = "") -> str:
    """Return a page's HTML with entities resolved: what its reader sees, between tags."""
    response = browser.get(path_of(name) + query)
    assert response.status_code == 200
    return html.unescape(response.content.decode())


class Links(HTMLParser):
    """Collects where a page leads, and which ids stand on it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and (href := given.get("href")):
            self.hrefs.append(href)
        if found := given.get("id"):
            self.ids.append(found)


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_public_and_use_no_database(
    name: str, client: Browser, django_assert_num_queries: Any, db: None
) -> None:
    with django_assert_num_queries(0):
        response = client.get(path_of(name))
    page = re.sub(r"(?s)<pre.*?</pre>", "", response.content.decode())  # what a block of code shows is text
    assert response.status_code == 200
    assert page.count("<h1") == 1
    assert re.findall(r'<a href="([^"?]*)" aria-current="page">', page) == [path_of(name)]
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script[^>]*>[^<]", page, re.IGNORECASE)


@pytest.fixture(scope="module")
def known_ids() -> dict[str, list[str]]:
    """The ids on each page that was asked for: every page leads to nearly every other."""
    return {}


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str, signed_in: Browser, known_ids: dict[str, list[str]]) -> None:
    page = signed_in.get(path_of(name)).content.decode()
    found = Links(page)
    assert len(found.ids) == len(set(found.ids))
    for href in found.hrefs:
        path, _, anchor = href.partition("#")
        if path == "/console/" or path.startswith("https://"):
            continue  # a page with separate tests, or a page of another site
        if path and not path.startswith("?") and path not in known_ids:
            answer = signed_in.get(path, follow=True)
            assert answer.status_code == 200, href
            known_ids[path] = Links(answer.content.decode()).ids
        ids = known_ids.get(path, found.ids)
        assert not anchor or anchor in ids, href


@override_settings(
    SERVICE_NAME="Lantern",
    AUTH_URL="https://login.lantern.example",
    BASE_URL="https://api.lantern.example",
    ISSUER="https://login.lantern.example/",
    CLIENT_ID_PREFIX="lan_c_",
    API_KEY_PREFIX="lan_k_",
    API_CALLS_PER_MINUTE=1234,
    UNVERIFIED_APP_PEOPLE=57,
    REFRESH_TOKEN_SECONDS=14 * 24 * 3600,
    ALLOWED_HOSTS=["*"],
)
def test_names_addresses_and_numbers_are_those_of_the_settings(client: Browser) -> None:
    client.defaults["HTTP_HOST"] = "login.lantern.example"
    use_registry(Registry())  # the name of the API at /v1 is that of the service
    everything = "".join(text_of(name, client) for name in NAMES)
    for language in ("curl", "javascript"):
        everything += "".join(text_of(name, client, f"?language={language}") for name in ("web_app", "installed_app"))
    assert "Openport" not in everything
    assert "localhost:8000" not in everything
    assert "op_" not in everything
    for expected in ("Lantern", "lan_c_", "lan_k_", "1234", "57", "14 days"):
        assert expected in everything
    assert "https://login.lantern.example/connect/token" in everything
    assert "https://api.lantern.example/v1/me" in everything
    assert "allowInsecureRequests" not in everything


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "1 second"),
        (90, "90 seconds"),
        (300, "5 minutes"),
        (5400, "90 minutes"),
        (86400, "1 day"),
        (86401, "86401 seconds"),
    ],
)
def test_durations_are_shown_in_words(seconds: int, words: str) -> None:
    assert context.format_duration(seconds) == words


def test_every_error_code_is_on_the_page_with_its_cause_and_fix(client: Browser) -> None:
    sent = {reason.error for reason in reasons_at(AUTHORIZATION)}
    assert set(errors.AUTHORIZATION_HELP) == sent | {"server_error"}
    page = text_of("errors", client)
    tables: dict[str, Mapping[str, Any]] = {
        "api": KNOWN_ERRORS | ERRORS_BEFORE_ENDPOINTS,
        "authorization": errors.AUTHORIZATION_HELP,
        "token": errors.TOKEN_HELP,
    }
    for prefix, table in tables.items():
        for code, error in table.items():
            assert f'id="{prefix}-{code}"' in page
            for text in (error.cause, error.fix):
                assert len(text) > 10, code
                assert text in page, code


def token_refusals(app: RelyingParty, web_app: RelyingParty) -> Iterator[tuple[int, str]]:
    """Yield status and code of one refusal of each kind."""
    yield error_of(app.post("/connect/token", {"grant_type": ""}))
    header = {"Authorization": basic(web_app.client.client_id, "wrong")}
    form = {"grant_type": "authorization_code", "code": "x"}
    yield error_of(web_app.post("/connect/token", form, **header))
    yield error_of(app.exchange("unknown"))
    yield error_of(app.refresh(app.tokens()["refresh_token"], scope="openid account.read"))
    yield error_of(app.refresh(app.tokens()["refresh_token"], resource="https://none.example.com"))
    yield error_of(app.exchange("x", grant_type="password"))
    with mock.patch("oidc.views.token.TokenEndpoint.post", side_effect=OperationalError):
        yield error_of(app.exchange("x"))
    with override_settings(FAILURES_PER_MINUTE=0):
        yield error_of(app.exchange("unknown"))


def test_every_error_of_the_token_endpoint_is_listed(party: RelyingParty, web_app: RelyingParty) -> None:
    seen = set(token_refusals(party, web_app))
    assert {code for _, code in seen} == set(errors.TOKEN_HELP)
    for status, code in seen:
        assert status == errors.TOKEN_HELP[code].status or (code, status) == ("temporarily_unavailable", 503)


@pytest.mark.parametrize("more", [{}, {"claims": '{"id_token":{"acr":null}}'}])
def test_every_claim_of_a_token_is_explained(party: RelyingParty, more: dict[str, str]) -> None:
    tokens = party.tokens(**more)
    assert set(claims_of(tokens["id_token"])) <= set(context.ID_TOKEN)
    assert set(claims_of(tokens["access_token"])) <= set(context.ACCESS_TOKEN)


def test_every_scope_prompt_and_level_is_listed(client: Browser) -> None:
    page = text_of("authorization", client)
    for name in (*known_scopes(), *PROMPTS, PHISHING_RESISTANT):
        assert re.search(rf"<code[^>]*>{re.escape(name)}</code>", page)
    assert f">{MULTI_FACTOR}</code>" in page
    assert all(row["opens"] for group in context.scope_groups() for row in group["rows"])


def test_every_endpoint_is_listed(client: Browser) -> None:
    document = client.get("/.well-known/openid-configuration").json()
    addresses = {value for name, value in document.items() if name.endswith(("_endpoint", "_uri"))}
    assert addresses == set(context.endpoints().values()) - {f"{document['issuer']}.well-known/openid-configuration"}


def test_every_state_of_a_plan_is_listed_with_what_may_follow(client: Browser) -> None:
    page = text_of("plans", client)
    assert [row["state"] for row in context.plan_states()] == State.values
    for row in context.plan_states():
        assert f"<td><code>{row['state']}</code></td>" in page
        assert row["next"], row
