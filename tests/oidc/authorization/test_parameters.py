"""Each parameter of /connect/authorize: what is asked of it, and what is ignored."""

import html
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client as Browser

from oidc.models import Client
from tests.factories import REDIRECT_URI
from tests.relying_party import FORM, RelyingParty, answer_of, claims_of


def raw(app: RelyingParty, more: str, **changes: str | None) -> Any:
    return app.browser.get(f"/connect/authorize?{urlencode(app.parameters(**changes))}{more}")


# --- state and nonce ---


@pytest.mark.parametrize("state", ["a b+c&d=e", "ü✓", "%00", "x" * 2000])
def test_state_is_returned_unchanged(app: RelyingParty, state: str) -> None:
    assert answer_of(app.authorize(state=state, prompt="none"))["state"] == state


@pytest.mark.parametrize("nonce", [None, "ü✓ nonce", "x" * 1000])
def test_nonce_is_in_the_id_token(app: RelyingParty, nonce: str | None) -> None:
    assert claims_of(app.tokens(nonce=nonce)["id_token"]).get("nonce") == nonce


# --- scope ---


@pytest.mark.parametrize(
    "scope",
    [
        None,
        "email",
        "openid calendar",
        "openid account.read",
        "OPENID",
        "openid,email",
        " ",
        "openid\u00a0email",
    ],
)
def test_a_scope_that_is_not_approved_is_rejected(app: RelyingParty, scope: str | None) -> None:
    assert answer_of(app.authorize(scope=scope))["error"] == "invalid_scope"


@pytest.mark.parametrize("scope", ["openid  email", " openid email", "openid email   ", "email openid email openid"])
def test_extra_spaces_and_repeated_scopes_change_nothing(app: RelyingParty, scope: str) -> None:
    tokens = app.tokens(scope=scope)
    assert tokens["scope"] == "openid email"


def test_approval_applies_to_one_client(app: RelyingParty, web_app: RelyingParty) -> None:
    Client.objects.filter(pk=web_app.client.pk).update(approved_scopes="account.read")
    assert answer_of(app.authorize(scope="openid account.read"))["error"] == "invalid_scope"


# --- response_type and response_mode ---


@pytest.mark.parametrize("kind", ["token", "code id_token", "none", "CODE", "code code"])
def test_the_only_response_type_is_code(app: RelyingParty, kind: str) -> None:
    answer = answer_of(app.authorize(response_type=kind))
    assert answer["error"] == "unsupported_response_type"


@pytest.mark.parametrize("mode", ["fragment", "QUERY", "query form_post"])
def test_other_response_modes_are_refused_in_the_query(app: RelyingParty, mode: str) -> None:
    response = app.authorize(response_mode=mode)
    assert "#" not in response["Location"]
    assert answer_of(response)["error"] == "invalid_request"


def test_response_mode_query_may_be_named(app: RelyingParty) -> None:
    assert answer_of(app.authorize(response_mode="query", prompt="none"))["error"] == "consent_required"


def fields_of(page: Any) -> dict[str, str]:
    text = page.content.decode()
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', text)
    return {html.unescape(name): html.unescape(value) for name, value in found}


def test_form_post_answers_with_a_form_to_the_app(app: RelyingParty) -> None:
    page = app.answer_consent(app.authorize(response_mode="form_post"))
    assert page.status_code == 200
    assert f'action="{REDIRECT_URI}"' in page.content.decode()
    fields = fields_of(page)
    assert set(fields) == {"code", "state", "iss"}
    assert fields["state"] == app.state
    # Chromium would apply it to all redirects of the app's callback.
    assert "form-action" not in page["Content-Security-Policy"]
    assert page.content.count(b"<form") == 1
    assert "no-store" in page["Cache-Control"]
    assert app.exchange(fields["code"]).status_code == 200


def test_form_post_returns_errors_too(app: RelyingParty) -> None:
    page = app.authorize(response_mode="form_post", prompt="none", state='"><script>alert(1)</script>')
    assert b"<script>alert" not in page.content
    assert b"csrfmiddlewaretoken" not in page.content
    fields = fields_of(page)
    assert (fields["error"], fields["state"]) == ("consent_required", '"><script>alert(1)</script>')
    assert fields["iss"] == "http://localhost:8000/"


# --- repeated, refused and ignored parameters ---


@pytest.mark.parametrize(
    "name",
    [
        "response_type",
        "scope",
        "state",
        "prompt",
        "anything",
    ],
)
def test_a_repeated_parameter_is_refused(app: RelyingParty, name: str) -> None:
    complete: dict[str, str] = {"prompt": "consent", "response_mode": "query", "max_age": "9999"} | app.parameters()
    value = complete.setdefault(name, "x")
    answer = answer_of(app.browser.get(f"/connect/authorize?{urlencode(complete)}&{urlencode({name: value})}"))
    assert answer["error"] == "invalid_request"
    assert ("state" in answer) == (name != "state")
    assert name in answer["error_description"]


@pytest.mark.parametrize("name", ["client_id", "redirect_uri"])
def test_a_repeated_client_id_or_redirect_uri_shows_a_page(app: RelyingParty, name: str) -> None:
    for value in (app.parameters()[name], "https://evil.example.com/"):
        response = raw(app, f"&{urlencode({name: value})}")
        assert response.status_code == 400
        assert "Location" not in response


@pytest.mark.parametrize(
    "ignored",
    [
        {"display": "popup"},
        {"claims": '{"id_token":{"acr":{"values":["gold"]}},"vendor":[1]}'},
        {"acr_values": "urn:mace:incommon:iap:silver"},
        {"ui_locales": "de xx-nonsense"},
        {"login_hint": "someone@example.com"},
        {"unknown": "x"},
        {"approval_prompt": "auto"},
        {"audience": "x"},
    ],
)
def test_unknown_parameters_change_nothing(app: RelyingParty, ignored: dict[str, str]) -> None:
    answer = app.tokens(scope="openid", **ignored)
    assert answer["scope"] == "openid"
    assert "email" not in claims_of(answer["id_token"])


def test_a_parameter_without_a_value_counts_as_left_out(app: RelyingParty) -> None:
    empty = {"prompt": "", "max_age": "", "response_mode": "", "request": "", "id_token_hint": "", "login_hint": ""}
    assert app.authorize(**empty).status_code == 200


# --- methods ---


def test_a_form_post_request_becomes_a_get(app: RelyingParty) -> None:
    cross_site = Browser(enforce_csrf_checks=True)
    response = cross_site.post("/connect/authorize", urlencode(app.parameters()), content_type=FORM)
    assert response.status_code == 303
    assert response["Location"].startswith("/connect/authorize?")
    assert not response.cookies
    followed = app.browser.get(response["Location"])
    assert followed.status_code == 200
    assert answer_of(app.answer_consent(followed))["state"] == app.state


def test_a_posted_request_can_lead_to_every_response(app: RelyingParty) -> None:
    """Chromium checks `form-action` of the page that posts, not ours; our answer is a redirect to ourselves."""
    response = Browser().post("/connect/authorize", urlencode(app.parameters(client_id="x")), content_type=FORM)
    assert response.status_code == 303
    assert app.browser.get(response["Location"]).status_code == 400


def test_a_repeated_parameter_stays_repeated_through_a_post(app: RelyingParty) -> None:
    body = f"{urlencode(app.parameters())}&state=other"
    response = Browser().post("/connect/authorize", body, content_type=FORM)
    assert answer_of(app.browser.get(response["Location"]))["error"] == "invalid_request"


def test_invalid_encoding_in_a_post_is_rejected(app: RelyingParty) -> None:
    body = f"{urlencode(app.parameters(state=None))}&state=%ff"
    response = Browser().post("/connect/authorize", body, content_type=FORM)
    followed = app.browser.get(response["Location"])
    assert answer_of(raw(app, "&state=%ff", state=None))["error"] == "invalid_request"
    assert "Location" in followed
    assert answer_of(followed)["error"] == "invalid_request"


def test_head_is_answered_like_get(app: RelyingParty) -> None:
    path = f"/connect/authorize?{urlencode(app.parameters())}"
    assert app.browser.head(path).status_code == 200
    assert Browser().head(path)["Location"].startswith("/account/login/")
