"""Security headers of every page and answer (docs/security.md#headers)."""

import re
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.entrance.forms import SIGN_IN_PAGES
from core.http.direct_dispatch import is_direct
from core.http.error_pages import UNREADABLE_COOKIES
from oidc.models import Client, Connection
from tests.relying_party import RelyingParty, answer_of
from tests.urls import every_url

# The pages to which an app's request can lead, besides /connect/.
ON_THE_WAY = {
    *SIGN_IN_PAGES, "account_choose", "account_closed", "account_confirm_login_code", "account_inactive",
    "account_password_reset_completed", "account_reauthenticate", "account_reauthenticate_by_email",
    "account_recovery_start", "account_sign_in_again", "first_recovery_codes", "mfa_activate_totp", "mfa_add_webauthn",
    "mfa_list_webauthn", "mfa_reauthenticate", "mfa_reauthenticate_webauthn", "mfa_view_recovery_codes",
}  # fmt: skip


def directives(response: Any) -> dict[str, str]:
    policy = response["Content-Security-Policy"]
    return dict(part.strip().partition(" ")[::2] for part in policy.split(";"))


def is_strict(response: Any) -> bool:
    policy = directives(response)
    return (
        policy["default-src"] == "'none'"
        and policy["frame-ancestors"] == "'none'"
        and policy["base-uri"] == "'none'"
        and policy["script-src"] == "'self'"
        and policy["style-src"] == "'self'"
        and "unsafe" not in response["Content-Security-Policy"]
        and "*" not in response["Content-Security-Policy"]
    )


def nothing_inline(response: Any) -> bool:
    """Tell whether the page holds no script, style or handler that the policy would stop."""
    text = response.content.decode()
    scripts = re.findall(r"<script([^>]*)>", text)
    inline = [attributes for attributes in scripts if "src=" not in attributes and "application/json" not in attributes]
    return not inline and "<style" not in text and not re.search(r"<[^>]+\s(style|on\w+)\s*=", text)


def has_the_rest(response: Any) -> bool:
    return (
        response["X-Content-Type-Options"] == "nosniff"
        and response["Referrer-Policy"] in ("same-origin", "no-referrer", "strict-origin")
        and "X-Request-ID" in response
    )


def all_is_well(response: Any) -> bool:
    return is_strict(response) and has_the_rest(response) and nothing_inline(response)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/nothing/here", "/account/login/?x=%00", "/connect/authorize?x=%00"])
def test_headers_of_error_pages(client: Browser, path: str) -> None:
    response = client.get(path)
    assert all_is_well(response), (response.headers, response.content[:3000])


def test_headers_of_pages_during_a_sign_in(app: RelyingParty) -> None:
    pages = [
        app.authorize(),
        app.authorize(client_id="x"),
        app.authorize(response_mode="form_post", prompt="none"),
        app.browser.get(app.authorize(prompt="login")["Location"]),
    ]
    app.tokens()
    pages.append(app.browser.get(f"/account/apps/{Connection.objects.get().pk}/remove"))
    Client.objects.update(enabled=False)
    pages.append(app.authorize())
    for page in pages:
        assert all_is_well(page), page.content[:2000]


def test_redirects_have_the_headers_too(app: RelyingParty) -> None:
    response = app.authorize(prompt="none")
    assert is_strict(response)
    assert response["Referrer-Policy"] == "no-referrer"


def test_only_the_admin_has_the_looser_policy(client: Browser, db: None) -> None:
    for path in ("/administrator/", "/account/?next=/admin/", "/connect/admin/", "//admin/"):
        assert "unsafe" not in client.get(path)["Content-Security-Policy"]
    assert directives(client.get("/admin/"))["frame-ancestors"] == "'none'"


def test_only_pages_on_the_way_to_an_app_may_be_in_a_popup_of_the_app(client: Browser, db: None) -> None:
    """An app that opened a popup loses it at the first response with this header, redirects included."""
    wrong, strict = [], Browser(enforce_csrf_checks=True)
    for url in every_url():
        if is_direct(url.example):
            continue  # for programs
        is_on_the_way = url.example.startswith("/connect/") or url.name in ON_THE_WAY
        answers = [client.get(url.example), strict.post(url.example)]
        if is_on_the_way:
            unreadable: dict[str, Any] = {UNREADABLE_COOKIES: True}
            answers.append(client.get(url.example, **unreadable))  # before a view is called
        for response in answers:
            if response.get("Cross-Origin-Opener-Policy") != (None if is_on_the_way else "same-origin"):
                wrong.append((url.name, response.status_code))
    assert not wrong


FORGED = ("<script>", "a b", "x" * 200, "short", "\u00e9" * 10, "eyJhbGciOiJub25lIn0", "a" * 8 + ",b" * 4)


def test_only_trusted_proxies_may_set_the_request_id(client: Browser, db: None, settings: Any) -> None:
    sent = {"X-Request-ID": "proxy-1234567", "X-Forwarded-For": "127.0.0.1"}
    for path in ("/v1/me", "/account/login/", "/health/live", "/nothing"):
        settings.TRUSTED_PROXIES = []
        assert client.get(path, headers=sent)["X-Request-ID"] != "proxy-1234567"
        settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
        assert client.get(path, headers=sent)["X-Request-ID"] != "proxy-1234567"
        settings.TRUSTED_PROXIES = ["10.0.0.0/8", "127.0.0.1"]
        assert client.get(path, headers=sent)["X-Request-ID"] == "proxy-1234567"


@pytest.mark.parametrize("given", FORGED)
def test_a_malformed_request_id_is_replaced(given: str, client: Browser, db: None, settings: Any) -> None:
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    assert client.get("/v1/me", headers={"X-Request-ID": given})["X-Request-ID"] != given


def test_answers_to_apps_have_no_cookies(app: RelyingParty) -> None:
    answers = [app.exchange(app.code()), app.call("/connect/userinfo", "x"), app.call("/v1/me", "x")]
    answers.append(Browser().get("/.well-known/jwks"))
    for answer in answers:
        assert not answer.cookies
    assert "code" in answer_of(app.authorize())
