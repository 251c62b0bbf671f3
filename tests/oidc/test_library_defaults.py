"""What the libraries do by themselves, pinned; an upgrade that changes one is noticed. And that ours differs.

The left half of each test calls the library's own class or function. When such a test fails after an upgrade, what
fixes it here may have become needless, or wrong: see docs/library.md.
"""

import base64
import hashlib
import time
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import django_ratelimit.core as stock
import pytest
from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal.ratelimit import handler429
from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ImproperlyConfigured
from django.test import RequestFactory
from django.utils import timezone
from oauth2_provider import checks
from oauth2_provider.forms import AllowForm
from oauth2_provider.models import (
    AbstractApplication,
    AbstractGrant,
    ClientSecretField,
    check_redirect_to_uri_allowed,
    clear_expired,
)
from oauth2_provider.oauth2_backends import OAuthLibCore
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauth2_provider.settings import DEFAULTS, oauth2_settings
from oauth2_provider.views.base import AuthorizationView
from oauthlib.oauth2.rfc6749 import errors
from oauthlib.oauth2.rfc6749.grant_types import AuthorizationCodeGrant
from oauthlib.oauth2.rfc6749.tokens import BearerToken
from oauthlib.openid.connect.core.tokens import JWTToken

from accounts.models import Account
from core.http.error_pages import too_many_requests
from oidc import tasks
from oidc.errors import TokenRefusal
from oidc.models import AccessToken, AuthorizationCode, Client
from oidc.protocol.server import Backend, Server, Validator
from oidc.tokens.authentication import parse_basic_header
from tests.factories import REDIRECT_URI
from tests.relying_party import FORM, RelyingParty, basic, claims_of

BLANK = SimpleNamespace()


def test_library_default_settings() -> None:
    expected = {
        "REQUEST_APPROVAL_PROMPT": "force",  # and the client may choose another one
        "DEFAULT_SCOPES": ["__all__"],
        "CLIENT_SECRET_HASHER": "default",  # that of passwords
        "ID_TOKEN_EXPIRE_SECONDS": 36000,
        "REFRESH_TOKEN_REUSE_PROTECTION": False,
        "OIDC_SUBJECT_TYPES_SUPPORTED": ["public"],
        "OIDC_RP_INITIATED_LOGOUT_DELETE_TOKENS": True,
    }
    assert {name: DEFAULTS[name] for name in expected} == expected
    assert "code id_token" in DEFAULTS["OIDC_RESPONSE_TYPES_SUPPORTED"]
    assert oauth2_settings.SCOPES_BACKEND_CLASS().get_default_scopes() == []
    assert oauth2_settings.ID_TOKEN_EXPIRE_SECONDS == 300
    assert oauth2_settings.REFRESH_TOKEN_REUSE_PROTECTION is True
    assert oauth2_settings.OIDC_RP_INITIATED_LOGOUT_DELETE_TOKENS is False


# --- The authorization endpoint ---


def test_library_default_prompt_login_strips_the_prompt() -> None:
    view = AuthorizationView()
    view.request = RequestFactory().get("/connect/authorize?client_id=x&prompt=login")
    view.request.user = AnonymousUser()
    come_back = parse_qs(urlsplit(view.handle_prompt_login().url).query)["next"][0]
    assert "prompt" not in come_back


def test_library_default_consent_form_trusts_its_hidden_fields(app: RelyingParty) -> None:
    hidden = {"client_id", "redirect_uri", "scope", "state", "nonce", "response_type", "code_challenge"}
    assert hidden <= set(AllowForm.base_fields)
    text = app.authorize().content.decode()
    for name in hidden:
        assert f'name="{name}"' not in text


def test_library_default_pkce_accepts_plain() -> None:
    assert set(AuthorizationCodeGrant(OAuth2Validator())._code_challenge_methods) == {"plain", "S256"}
    ours = Server(Validator()).openid_connect_auth.proxy_target
    assert set(ours._code_challenge_methods) == {"S256"}


def test_library_default_challenge_and_verifier_are_any_text() -> None:
    stock = AuthorizationCodeGrant(OAuth2Validator())
    assert stock.validate_code_challenge("x", "plain", "x")
    ours = Server(Validator()).openid_connect_auth.proxy_target
    of_x = base64.urlsafe_b64encode(hashlib.sha256(b"x").digest()).rstrip(b"=").decode()
    assert stock.validate_code_challenge(of_x, "S256", "x")
    with pytest.raises(TokenRefusal):
        ours.validate_code_challenge(of_x, "S256", "x")


@pytest.mark.parametrize(
    "variant",
    [
        "https://APP.example.com/callback",
        "HTTPS://app.example.com/callback",
        "https://app.example.com/callback\n",
        "https://app.example.com/call\nback",
    ],
)
def test_library_default_redirect_match_normalises(variant: str) -> None:
    assert check_redirect_to_uri_allowed(variant, [REDIRECT_URI])[0]
    assert not Client(redirect_uris=REDIRECT_URI).redirect_uri_allowed(variant)


def test_library_default_redirect_match_lets_loopback_ports_differ() -> None:
    registered = "http://127.0.0.1/callback"
    assert check_redirect_to_uri_allowed("http://127.0.0.1:5000/callback", [registered])[0]
    assert not Client(redirect_uris=registered).redirect_uri_allowed("http://127.0.0.1:5000/callback")


def test_library_default_redirect_match_raises_for_an_impossible_port() -> None:
    impossible = "https://app.example.com:99999/callback"
    with pytest.raises(ValueError):
        check_redirect_to_uri_allowed(impossible, [REDIRECT_URI])
    assert not Client(redirect_uris=REDIRECT_URI).redirect_uri_allowed(impossible)


def test_library_default_redirect_uri_is_optional_with_one_registered() -> None:
    client = Client(redirect_uris=REDIRECT_URI)
    # The property itself: a model made here would stay among Django's models for the tests that come after.
    assert AbstractApplication.default_redirect_uri.fget(client) == REDIRECT_URI
    with pytest.raises(TokenRefusal):
        Validator().get_default_redirect_uri(client.client_id, None)


def test_library_default_mismatch_at_the_token_endpoint_is_invalid_request(app: RelyingParty) -> None:
    assert errors.MismatchingRedirectURIError().error == "invalid_request"
    assert app.exchange(app.code(), redirect_uri="https://x.example.com/").json()["error"] == "invalid_grant"


def test_library_default_repeated_parameters_collapse(rf: RequestFactory) -> None:
    request = rf.post("/connect/token", "code=a&code=b", content_type=FORM)
    assert OAuthLibCore(server=object()).extract_body(request) == [("code", "b")]


def test_library_default_body_hands_everything_to_oauthlib(rf: RequestFactory) -> None:
    request = rf.post("/connect/token", "code=a&response_type=token", content_type=FORM)
    request.resolver_match = SimpleNamespace(url_name="token")  # type: ignore[assignment]
    assert ("response_type", "token") in OAuthLibCore(server=object()).extract_body(request)
    assert Backend(server=object()).extract_body(request) == [("code", "a")]


# --- Codes and tokens ---


def test_library_default_code_is_deleted_on_use(app: RelyingParty) -> None:
    app.tokens()
    row = AuthorizationCode.objects.get()
    assert row.consumed_at is not None
    request = SimpleNamespace(client=app.client)
    Validator().invalidate_authorization_code(app.client.client_id, row.code, request)
    assert AuthorizationCode.objects.exists()
    OAuth2Validator().invalidate_authorization_code(app.client.client_id, row.code, request)
    assert not AuthorizationCode.objects.exists()


def test_library_default_code_column_is_meant_for_the_code_itself() -> None:
    assert AbstractGrant._meta.get_field("code").max_length == 255
    assert OAuth2Validator.get_code_challenge is not Validator.get_code_challenge


def test_library_default_refuses_a_grace_with_hashed_tokens(settings: Any) -> None:
    given = settings.OAUTH2_PROVIDER
    settings.OAUTH2_PROVIDER = given | {"REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 10}
    assert "oauth2_provider.E001" in {message.id for message in checks.validate_bcp_configuration(None)}
    settings.OAUTH2_PROVIDER = given
    assert checks.validate_bcp_configuration(None) == []


def test_library_default_warns_of_http_among_the_schemes(settings: Any) -> None:
    given = settings.OAUTH2_PROVIDER
    settings.OAUTH2_PROVIDER = given | {"ALLOWED_REDIRECT_URI_SCHEMES": ["http", "https"]}
    found = {message.id for message in checks.validate_bcp_configuration(None)}
    assert found & {"oauth2_provider.W008", "oauth2_provider.E003"}
    assert "http" in Client().get_allowed_schemes()


def test_library_default_clean_up_deletes_a_used_code_as_soon_as_it_expires(app: RelyingParty) -> None:
    app.tokens()
    AuthorizationCode.objects.update(expires=timezone.now())
    tasks.clear_expired()
    assert AuthorizationCode.objects.exists()
    clear_expired()
    assert not AuthorizationCode.objects.exists()


def test_library_default_empty_secret_is_hashed_and_then_matches() -> None:
    field = ClientSecretField(max_length=255)
    field.attname = "client_secret"
    model = SimpleNamespace(client_secret="", hash_client_secret=True)
    assert check_password("", field.pre_save(model, add=True))


def test_library_default_client_creates_a_long_secret(spa: Client) -> None:
    assert len(Client().client_secret) == 128
    assert spa.client_secret == ""


def test_library_default_key_comes_from_settings(spa: Client) -> None:
    assert settings.OAUTH2_PROVIDER["OIDC_RSA_PRIVATE_KEY"] == ""
    with pytest.raises(ImproperlyConfigured):
        _ = spa.jwk_key


def test_library_default_generator_also_creates_refresh_tokens() -> None:
    def generator(request: Any) -> str:
        return "a.b.c"

    assert BearerToken(OAuth2Validator(), token_generator=generator).refresh_token_generator is generator
    assert oauth2_settings.REFRESH_TOKEN_GENERATOR is not oauth2_settings.ACCESS_TOKEN_GENERATOR


def test_library_default_takes_every_jwt_for_an_id_token() -> None:
    request = SimpleNamespace(headers={"Authorization": "Bearer eyJ.b.c"})
    assert JWTToken(OAuth2Validator()).estimate_type(request) == 10
    assert Validator().validate_jwt_bearer_token("eyJ.b.c", [], BLANK) is False


def test_library_default_lookup_raises_for_a_malformed_id_token() -> None:
    with pytest.raises(Exception):  # noqa: B017  (of jwcrypto, json or base64: each is a 500)
        OAuth2Validator()._get_key_for_token("eyJ.b.c")


def test_library_default_sub_is_the_account_id(app: RelyingParty, person: Account) -> None:
    assert OAuth2Validator().get_claim_dict(SimpleNamespace(user=person)) == {"sub": str(person.pk)}
    assert claims_of(app.tokens()["id_token"])["sub"] != str(person.pk)


def test_library_default_auth_time_is_the_last_login_anywhere(person: Account) -> None:
    request = SimpleNamespace(user=person, scopes=["openid"], client=BLANK)
    claims, _ = OAuth2Validator().get_id_token_dictionary(None, None, request)
    assert claims["auth_time"] >= int(time.time()) - 5  # `now`, as nobody ever signed in


def test_library_default_bearer_check_accepts_inactive_people(app: RelyingParty, person: Account) -> None:
    raw = app.tokens()["access_token"]
    Account.objects.filter(pk=person.pk).update(is_active=False)
    stock_request, our_request = SimpleNamespace(), SimpleNamespace()
    assert OAuth2Validator().validate_bearer_token(raw, ["openid"], stock_request)
    with pytest.raises(TokenRefusal):
        Validator().validate_bearer_token(raw, ["openid"], our_request)
    assert AccessToken.objects.count() == 1


# --- Clients ---


def test_library_default_basic_is_case_sensitive() -> None:
    header = basic("id", "secret", "basic")
    request = SimpleNamespace(headers={"HTTP_AUTHORIZATION": header})
    assert OAuth2Validator()._extract_basic_auth(request) is None
    assert parse_basic_header(header) == ("id", "secret")


def test_library_default_401_has_a_bearer_challenge(web_app: RelyingParty) -> None:
    assert errors.InvalidClientError().headers["WWW-Authenticate"].startswith("Bearer")
    refused = web_app.exchange("x", client_secret="wrong")
    assert refused["WWW-Authenticate"].startswith("Basic")


def test_library_default_cors_depends_on_the_client() -> None:
    assert Client(allowed_origins="https://app.example.com").origin_allowed("https://app.example.com")
    request = RequestFactory().post("/connect/token", headers={"Origin": "https://app.example.com"})
    stock = OAuthLibCore().extract_headers(request)
    assert stock["Origin"] == "https://app.example.com"
    assert "Origin" not in Backend(Server(Validator())).extract_headers(request)


# --- django-allauth ---


def test_library_default_allauth_sends_signed_in_people_off_the_sign_in_page(app: RelyingParty) -> None:
    assert app_settings.AUTHENTICATED_LOGIN_REDIRECTS is True
    assert app.browser.get("/account/login/").status_code == 302


def test_library_default_allauth_429_has_no_retry_after(rf: RequestFactory) -> None:
    request = rf.get("/")
    request.user = AnonymousUser()
    assert "Retry-After" not in handler429(request)
    assert 1 <= int(too_many_requests(request)["Retry-After"]) <= 60


def test_allauth_default_counts_failed_sign_ins_by_host(rf: RequestFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "ALLOWED_HOSTS", ["*"])
    adapter = DefaultAccountAdapter()
    requests = [rf.get("/", headers={"Host": f"localhost:{port}"}) for port in (1001, 1002)]
    assert len({adapter._get_login_attempts_cache_key(request, email="a@example.com") for request in requests}) == 2
    assert settings.ACCOUNT_RATE_LIMITS is settings.MFA_RATE_LIMITS is False


def test_library_default_ratelimit_can_say_to_wait_zero_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    for moment in range(10):
        monkeypatch.setattr(stock, "time", SimpleNamespace(time=lambda moment=moment: 1_800_000_000 + moment))
        usage = stock.get_usage(None, group="x", key=lambda *_: "x", rate="1/10s", increment=True)
        seen.add(usage["time_left"])
    assert 0 in seen


def test_library_default_admin_sign_in_is_replaced(client: Any, db: None) -> None:
    assert client.get("/admin/login/")["Location"].startswith("/account/login/")
