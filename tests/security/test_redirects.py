"""No redirect to an address that is not, character for character, registered (docs/security.md#redirects)."""

from typing import Any
from urllib.parse import quote, unquote, urlencode, urljoin, urlsplit

import pytest
from django.test import Client as Browser
from hypothesis import assume, given
from hypothesis import settings as effort
from hypothesis import strategies as st

from accounts.models import Account
from oidc.models import Client
from tests.factories import PASSWORD, SIGN_OUT_URI
from tests.relying_party import RelyingParty, answer_of

REGISTERED = "https://app.example.com/callback"
LOOPBACK = "http://localhost:3000/cb"
LOOPBACK_IP = "http://127.0.0.1:3000/cb"

VARIANTS = [
    # case
    "https://APP.example.com/callback",
    "HTTPS://app.example.com/callback",
    "https://app.example.com/Callback",
    # ports
    "https://app.example.com:443/callback",
    "https://app.example.com:/callback",
    "https://app.example.com:8443/callback",
    "https://app.example.com:99999/callback",
    "https://app.example.com:-1/callback",
    "https://app.example.com:x/callback",
    # scheme
    "http://app.example.com/callback",
    "//app.example.com/callback",
    "/callback",
    "app.example.com/callback",
    "javascript:alert(1)//https://app.example.com/callback",
    "data:text/html,x",
    "https:app.example.com/callback",
    "https:/app.example.com/callback",
    "https:///app.example.com/callback",
    # path
    "https://app.example.com/callback/",
    "https://app.example.com//callback",
    "https://app.example.com/./callback",
    "https://app.example.com/x/../callback",
    "https://app.example.com/callback/.",
    "https://app.example.com/callback/../evil",
    "https://app.example.com/callback;x",
    "https://app.example.com/callbackevil",
    "https://app.example.com/callbac",
    "https://app.example.com",
    "https://app.example.com/",
    "https://app.example.com\\callback",
    "https://app.example.com/%63allback",
    "https://app.example.com/callback%2f",
    "https://app.example.com/%2e%2e/callback",
    "https://app.example.com/callback%00",
    "https://app.example.com/callback%0d%0aSet-Cookie:x=y",
    # query and fragment
    "https://app.example.com/callback?",
    "https://app.example.com/callback?x=1",
    "https://app.example.com/callback#",
    "https://app.example.com/callback#x",
    "https://app.example.com/callback&x=1",
    # whitespace and control characters
    " https://app.example.com/callback",
    "https://app.example.com/callback ",
    "https://app.example.com/callback\t",
    "https://app.example.com/callback\n",
    "https://app.example.com/callback\r\n",
    "https://app.example.com/call\nback",
    "\u200bhttps://app.example.com/callback",
    "https://app.example.com/callback\u00a0",
    f"{REGISTERED} {LOOPBACK}",
    f"{REGISTERED},{LOOPBACK}",
    # userinfo
    "https://app.example.com@evil.example.com/callback",
    "https://user@app.example.com/callback",
    "https://user:pw@app.example.com/callback",
    "https://@app.example.com/callback",
    "https://evil.example.com#@app.example.com/callback",
    "https://evil.example.com\\@app.example.com/callback",
    # lookalike hosts
    "https://app.example.com.evil.example.net/callback",
    "https://evilapp.example.com/callback",
    "https://sub.app.example.com/callback",
    "https://app.example.com./callback",
    "https://app.examp1e.com/callback",
    "https://\u0430pp.example.com/callback",
    "https://app\uff0eexample.com/callback",
    "https://app.example.co\u006d\u0307/callback",
    "https://xn--pp-7lc.example.com/callback",
    "https://app%2eexample.com/callback",
    # spellings of the loopback address
    "http://localhost/cb",
    "http://localhost:3001/cb",
    "http://LOCALHOST:3000/cb",
    "http://localhost.:3000/cb",
    "http://localhost:03000/cb",
    "http://localhost.evil.example.com:3000/cb",
    "http://127.0.0.1:3001/cb",
    "http://127.1:3000/cb",
    "http://127.0.1:3000/cb",
    "http://0177.0.0.1:3000/cb",
    "http://0x7f000001:3000/cb",
    "http://2130706433:3000/cb",
    "http://127.000.000.001:3000/cb",
    "http://[::1]:3000/cb",
    "http://[::ffff:127.0.0.1]:3000/cb",
    "http://0.0.0.0:3000/cb",
    "http://127.0.0.2:3000/cb",
    "https://localhost:3000/cb",
    "http://[::1:3000/cb",
]


@pytest.fixture
def registered(app: RelyingParty, settings: Any) -> RelyingParty:
    settings.FAILURES_PER_MINUTE = 100_000
    Client.objects.filter(pk=app.client.pk).update(redirect_uris=f"{REGISTERED} {LOOPBACK} {LOOPBACK_IP}")
    return app


@pytest.mark.parametrize("uri", [REGISTERED, LOOPBACK, LOOPBACK_IP])
def test_each_registered_address_is_redirected_to(registered: RelyingParty, uri: str) -> None:
    response = registered.authorize(redirect_uri=uri, prompt="none")
    assert response["Location"].startswith(f"{uri}?")


@pytest.mark.parametrize("prompt", [None, "none"])
def test_a_variant_of_a_registered_address_gets_a_page(registered: RelyingParty, prompt: str | None) -> None:
    for uri in VARIANTS:
        response = registered.authorize(redirect_uri=uri, prompt=prompt)
        assert response.status_code == 400, uri
        assert "Location" not in response, uri
        assert "evil" not in response.content.decode(), uri


def test_a_variant_is_not_taken_unencoded_either(registered: RelyingParty) -> None:
    query = urlencode(registered.parameters(redirect_uri=None))
    for uri in VARIANTS:
        if unquote(uri) == REGISTERED:
            continue  # unencoded, its escapes are the query's
        # As careless clients send it; what ends a parameter or the query has to be encoded all the same.
        sent = quote(uri, safe=":/?@!$'()*,;=[]\\%")
        response = registered.browser.get(f"/connect/authorize?{query}&redirect_uri={sent}")
        assert response.status_code == 400, uri
        assert "Location" not in response, uri


@given(st.text(max_size=60))
@effort(max_examples=200, deadline=None)
def test_no_other_text_matches_a_registered_url(text: str) -> None:
    assume(text not in (REGISTERED, LOOPBACK))
    client = Client(redirect_uris=f"{REGISTERED} {LOOPBACK}", post_logout_redirect_uris=REGISTERED)
    assert not client.redirect_uri_allowed(text)
    assert not client.post_logout_redirect_uri_allowed(text)


@given(st.integers(0, len(REGISTERED)), st.text(max_size=4), st.integers(0, 3))
@effort(max_examples=300, deadline=None)
def test_no_edit_of_a_registered_address_matches(position: int, inserted: str, removed: int) -> None:
    edited = REGISTERED[:position] + inserted + REGISTERED[position + removed :]
    assert Client(redirect_uris=REGISTERED).redirect_uri_allowed(edited) == (edited == REGISTERED)


# --- Sign-out ---


def test_a_variant_of_a_sign_out_address_asks_and_leads_nowhere(app: RelyingParty) -> None:
    hint = app.tokens()["id_token"]
    for uri in (variant.replace("/callback", "/bye") for variant in VARIANTS if "app" in variant):
        query = urlencode({"id_token_hint": hint, "post_logout_redirect_uri": uri, "state": "s"})
        response = app.browser.get(f"/connect/logout?{query}")
        assert "Location" not in response, uri
        signed_out = Browser().get(f"/connect/logout?{query}")
        assert signed_out["Location"] == "/connect/signed-out", uri
    assert "_auth_user_id" in app.browser.session


def test_redirect_and_sign_out_addresses_are_not_one_list(app: RelyingParty) -> None:
    hint = app.tokens()["id_token"]
    query = urlencode({"id_token_hint": hint, "post_logout_redirect_uri": REGISTERED})
    assert "Location" not in app.browser.get(f"/connect/logout?{query}")
    assert app.authorize(redirect_uri=SIGN_OUT_URI).status_code == 400


# --- `next` on the account pages ---

ELSEWHERE = [
    "https://evil.example.com/", "//evil.example.com/", "///evil.example.com/", "////evil.example.com",
    "/\\evil.example.com", "\\\\evil.example.com", "\\/evil.example.com", "https:evil.example.com",
    "https:///evil.example.com", "http:\\\\evil.example.com", "javascript:alert(1)", "data:text/html,x",
    " https://evil.example.com/", "\thttps://evil.example.com/", "/\t/evil.example.com/", "/\n/evil.example.com/",
    "https://localhost:8000@evil.example.com/", "https://testserver.evil.example.com/", "http://testserver/account/",
    "https://evil.example.com%2f@localhost:8000/", "evil.example.com", "\u2044/evil.example.com",
    "\uff0f\uff0fevil.example.com", "https://app.example.com/callback",
]  # fmt: skip


def stays_here(location: str) -> bool:
    """Tell whether every browser takes this for a place on this service, a relative one included."""
    # Browsers drop tabs and line breaks, and take a backslash for a slash.
    plain = location.translate({ord("\\"): "/", ord("\t"): None, ord("\n"): None, ord("\r"): None}).strip()
    here = "http://localhost:8000/account/login/"
    return urlsplit(urljoin(here, plain))[:2] == urlsplit(here)[:2] and not plain.startswith("//")


@pytest.fixture
def unlimited(settings: Any) -> None:
    """Let a test sign in more often than a person may."""
    settings.RATELIMIT_ENABLE = False


def test_sign_in_redirects_nowhere_else(person: Account, unlimited: None) -> None:
    for target in ELSEWHERE:
        form = {"login": person.email, "password": PASSWORD, "next": target}
        response = Browser().post(f"/account/login/?{urlencode({'next': target})}", form)
        assert response.status_code == 302, target
        assert stays_here(response["Location"]), target


@pytest.mark.parametrize(
    "path", ["/account/login/", "/account/signup/", "/account/logout/", "/account/reauthenticate/", "/connect/resume"]
)
def test_signed_in_people_are_redirected_nowhere_else(app: RelyingParty, path: str, unlimited: None) -> None:
    session = app.browser.cookies["openport_session"].value
    for target in ELSEWHERE:
        query = urlencode({"next": target})
        app.browser.cookies["openport_session"] = session
        for response in (app.browser.get(f"{path}?{query}"), app.browser.post(f"{path}?{query}", {"next": target})):
            if "Location" in response:
                assert stays_here(response["Location"]), target
            else:
                assert f'href="{target}"' not in response.content.decode()


def test_confirming_again_redirects_nowhere_else(app: RelyingParty, person: Account, unlimited: None) -> None:
    for target in ELSEWHERE:
        form = {"login": person.email, "password": PASSWORD, "next": target}
        response = app.browser.post("/account/reauthenticate/", form)
        assert response.status_code == 302, target
        assert stays_here(response["Location"]), target


@pytest.mark.parametrize("target", ELSEWHERE[:3])
def test_switching_and_signing_out_redirect_nowhere_else(app: RelyingParty, target: str) -> None:
    for path, form in (
        ("/account/choose", {"next": target, "request": target, "account": target}),
        ("/account/choose", {"next": target, "decision": "another"}),
        ("/connect/logout/confirm", {"next": target, "decision": "sign-out", "post_logout_redirect_uri": target}),
    ):
        response = app.browser.post(f"{path}?{urlencode({'next': target})}", form)
        assert stays_here(response["Location"])


def test_the_host_of_a_request_is_not_this_service(app: RelyingParty, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    response = app.browser.get("/connect/authorize?client_id=x", headers={"Host": "evil.example.com"})
    assert response.status_code == 400
    form = {"login": "ada@example.com", "password": PASSWORD, "next": "https://evil.example.com/"}
    signed_in = Browser().post("/account/login/", form, headers={"Host": "evil.example.com"})
    assert stays_here(signed_in["Location"])


# --- What is appended ---


def test_a_registered_query_is_kept_and_added_to(app: RelyingParty) -> None:
    uri = "https://app.example.com/callback?tenant=1&x=a%20b"
    Client.objects.filter(pk=app.client.pk).update(redirect_uris=uri)
    response = app.authorize(redirect_uri=uri, prompt="none")
    assert response["Location"].startswith(f"{uri}&error=")


@pytest.mark.parametrize("state", ["\r\nSet-Cookie: x=y", "\n\nbody", "&code=injected", "#code=injected", "\u2028"])
def test_state_cannot_break_out_of_its_parameter(app: RelyingParty, state: str) -> None:
    response = app.authorize(state=state, prompt="none")
    assert "\n" not in response["Location"]
    assert not response.cookies
    answer = answer_of(response)
    assert set(answer) == {"error", "error_description", "state", "iss"}
    assert answer["state"] == state
