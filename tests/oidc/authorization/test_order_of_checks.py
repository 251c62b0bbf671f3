"""The order of the checks at /connect/authorize, and what a refusal looks like before and after trust."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from django.conf import settings

from core import clock
from oidc.models import Client
from tests.factories import REDIRECT_URI
from tests.relying_party import RelyingParty, answer_of

ISSUER = "http://localhost:8000/"


def turn_off(app: RelyingParty) -> None:
    Client.objects.filter(pk=app.client.pk).update(enabled=False)


def sign_out(app: RelyingParty) -> None:
    app.browser.logout()


def nothing(app: RelyingParty) -> None:
    pass


# Each fault of a request, in the order in which they are looked for: what is sent, what is set, what comes back.
Fault = tuple[dict[str, str | None], Callable[[RelyingParty], None], str]
FAULTS: list[Fault] = [
    ({"client_id": "op_client_unknown"}, nothing, "page 400"),
    ({"redirect_uri": "https://evil.example.com/callback"}, nothing, "page 400"),
    ({}, turn_off, "page 403"),
    ({"response_type": "token"}, nothing, "unsupported_response_type"),
    ({"code_challenge": None}, nothing, "invalid_request"),
    ({"scope": "openid calendar"}, nothing, "invalid_scope"),
    ({"prompt": "none"}, sign_out, "login_required"),
    ({"prompt": "none"}, nothing, "consent_required"),
]


def outcome(response: Any) -> str:
    if "Location" in response:
        return answer_of(response)["error"]
    return f"page {response.status_code}"


@pytest.mark.parametrize("first", range(len(FAULTS)))
def test_the_first_failed_check_decides(app: RelyingParty, first: int) -> None:
    changes: dict[str, str | None] = {}
    for sent, change, _ in FAULTS[first:]:
        changes |= {name: value for name, value in sent.items() if name not in changes}
        change(app)
    assert outcome(app.authorize(**changes)) == FAULTS[first][2]


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": None},
        {"client_id": "nobody"},
        {"redirect_uri": None},
        {"redirect_uri": "https://evil.example.com/callback"},
        {"redirect_uri": REDIRECT_URI + "/"},
    ],
)
@pytest.mark.parametrize("more", [{"prompt": "none"}, {"response_mode": "form_post", "state": None}])
def test_errors_before_the_redirect_url_is_checked_are_pages(
    app: RelyingParty, changes: dict[str, str | None], more: dict[str, str | None]
) -> None:
    response = app.authorize(**changes | more)
    assert response.status_code == 400
    assert "Location" not in response
    assert response["Content-Type"].startswith("text/html")
    assert b"invalid_request" in response.content
    assert response["X-Request-ID"].encode() in response.content
    assert b"evil.example.com" not in response.content
    assert app.state.encode() not in response.content


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "id_token"}, "unsupported_response_type"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"prompt": "none"}, "consent_required"),
        ({"request": "x.y.z"}, "request_not_supported"),
    ],
)
def test_later_errors_return_with_description_state_and_issuer(
    app: RelyingParty, changes: dict[str, str | None], error: str
) -> None:
    response = app.authorize(**changes)
    assert response.status_code == 302
    parts = urlsplit(response["Location"])
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == REDIRECT_URI
    answer = answer_of(response)
    assert set(answer) == {"error", "error_description", "state", "iss"}
    assert (answer["error"], answer["state"], answer["iss"]) == (error, app.state, ISSUER)
    # RFC 6749 §4.1.2.1: printable ASCII without quote and backslash
    assert all(" " <= character <= "~" and character not in '"\\' for character in answer["error_description"])


def test_success_returns_code_state_and_issuer(app: RelyingParty) -> None:
    answer = answer_of(app.answer_consent(app.authorize()))
    assert set(answer) == {"code", "state", "iss"}
    assert answer["iss"] == settings.ISSUER == ISSUER


def test_the_issuer_is_not_taken_from_the_host(app: RelyingParty) -> None:
    query = urlencode(app.parameters(prompt="none"))
    response = app.browser.get(f"/connect/authorize?{query}", headers={"Host": "127.0.0.1"})
    assert answer_of(response)["iss"] == ISSUER


def test_responses_to_the_app_are_not_cached_and_send_no_referrer(app: RelyingParty) -> None:
    for response in (app.authorize(prompt="none"), app.answer_consent(app.authorize())):
        assert "no-store" in response["Cache-Control"]
        assert response["Referrer-Policy"] == "no-referrer"


def test_a_suspended_project_comes_before_a_malformed_request(app: RelyingParty) -> None:
    app.client.project.suspended_at = clock.now()
    app.client.project.save()
    assert app.authorize(response_type=None).status_code == 403


def test_a_redirect_url_of_another_client_is_rejected(app: RelyingParty, web_app: RelyingParty) -> None:
    Client.objects.filter(pk=web_app.client.pk).update(redirect_uris="https://web.example.com/callback")
    assert app.authorize(redirect_uri="https://web.example.com/callback").status_code == 400
