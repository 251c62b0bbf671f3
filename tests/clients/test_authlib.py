"""A web app in Python with Authlib: metadata from discovery, the ID token checked by joserfc."""

import json
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from authlib.common.security import generate_token
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.httpx_client import OAuth2Client
from joserfc import jwt
from joserfc.jwk import KeySet

from tests.clients.app import App
from tests.clients.conftest import ADA, Apps
from tests.clients.person import Person
from tests.services.service import Service

pytestmark = pytest.mark.slow


def read_id_token(metadata: dict[str, Any], token: str, client_id: str, nonce: str | None) -> dict[str, Any]:
    """Return the claims of an ID token, checked as OpenID Connect Core 3.1.3.7 asks."""
    keys = KeySet.import_key_set(httpx.get(metadata["jwks_uri"]).json())
    decoded = jwt.decode(token, keys, algorithms=metadata["id_token_signing_alg_values_supported"])
    rules: dict[str, Any] = {
        "iss": {"essential": True, "value": metadata["issuer"]},
        "aud": {"essential": True, "value": client_id},
        "exp": {"essential": True},
        "sub": {"essential": True},
    }
    if nonce is not None:
        rules["nonce"] = {"essential": True, "value": nonce}
    jwt.JWTClaimsRegistry(**rules).validate(decoded.claims)
    claims: dict[str, Any] = decoded.claims
    return claims


def client_of(app: App, method: str) -> Any:
    return OAuth2Client(
        app.client_id,
        app.client_secret,
        token_endpoint_auth_method=method,
        scope="openid email profile offline_access",
        redirect_uri=app.redirect_uri,
        code_challenge_method="S256",
        timeout=20,
    )


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_web_app_goes_all_the_way(live_service: Service, apps: Apps, method: str) -> None:
    metadata = live_service.discovery()
    assert metadata["issuer"] == live_service.issuer
    assert method in metadata["token_endpoint_auth_methods_supported"]
    client, ada = client_of(apps.web, method), Person(live_service, ADA)
    nonce, verifier = generate_token(20), generate_token(48)
    url, state = client.create_authorization_url(
        metadata["authorization_endpoint"], nonce=nonce, code_verifier=verifier, prompt="consent"
    )
    callback = ada.go(url)
    assert ada.asked == ["sign-in", "consent"]
    assert parse_qs(urlsplit(callback).query)["iss"] == [live_service.issuer]

    tokens = client.fetch_token(
        metadata["token_endpoint"], authorization_response=callback, state=state, code_verifier=verifier
    )
    claims = read_id_token(metadata, tokens["id_token"], apps.web.client_id, nonce)
    assert claims["email"] == ADA
    info = client.get(metadata["userinfo_endpoint"]).raise_for_status().json()
    assert (info["sub"], info["given_name"]) == (claims["sub"], "Ada")
    me = client.get(f"{live_service.address}/v1/me").raise_for_status().json()
    assert (me["id"], me["email"]) == (claims["sub"], ADA)

    newer = client.refresh_token(metadata["token_endpoint"], refresh_token=tokens["refresh_token"])
    assert newer["refresh_token"] != tokens["refresh_token"]
    assert read_id_token(metadata, newer["id_token"], apps.web.client_id, None)["sub"] == claims["sub"]
    with pytest.raises(OAuthError) as refused:
        client.refresh_token(metadata["token_endpoint"], refresh_token=tokens["refresh_token"])
    assert refused.value.error == "invalid_grant"

    client.revoke_token(
        metadata["revocation_endpoint"], newer["refresh_token"], token_type_hint="refresh_token"
    ).raise_for_status()
    with pytest.raises(OAuthError):
        client.refresh_token(metadata["token_endpoint"], refresh_token=newer["refresh_token"])
    assert apps.web.call("/v1/me", newer["access_token"]).status_code == 401

    leave = {
        "id_token_hint": newer["id_token"],
        "post_logout_redirect_uri": apps.web.signed_out_uri,
        "state": "left-here",
    }
    assert ada.go(f"{metadata['end_session_endpoint']}?{urlencode(leave)}") == (
        f"{apps.web.signed_out_uri}?state=left-here"
    )
    assert ada.asked == []
    silent, _ = client.create_authorization_url(
        metadata["authorization_endpoint"], nonce=nonce, code_verifier=verifier, prompt="none"
    )
    assert parse_qs(urlsplit(ada.go(silent)).query)["error"] == ["login_required"]


def test_a_web_app_gets_less_where_the_person_leaves_something_out(live_service: Service, apps: Apps) -> None:
    metadata = live_service.discovery()
    client, ada = client_of(apps.modest, "client_secret_basic"), Person(live_service, ADA)
    nonce, verifier = generate_token(20), generate_token(48)

    def tokens_of(prompt: str) -> dict[str, Any]:
        url, state = client.create_authorization_url(
            metadata["authorization_endpoint"], nonce=nonce, code_verifier=verifier, prompt=prompt
        )
        callback = ada.go(url)
        found: dict[str, Any] = client.fetch_token(
            metadata["token_endpoint"], authorization_response=callback, state=state, code_verifier=verifier
        )
        return found

    first = tokens_of("consent")  # nothing is ticked
    assert ada.asked == ["sign-in", "consent"]
    assert first["scope"] == "openid profile offline_access"
    claims = read_id_token(metadata, first["id_token"], apps.modest.client_id, nonce)
    assert "email" not in claims
    info = client.get(metadata["userinfo_endpoint"]).raise_for_status().json()
    assert (info["sub"], info["name"], info.get("email")) == (claims["sub"], "Ada Lovelace", None)
    newer = client.refresh_token(metadata["token_endpoint"], refresh_token=first["refresh_token"])
    assert newer["scope"] == "openid profile offline_access"

    again = tokens_of("none")
    assert ada.asked == []
    assert again["scope"] == "openid profile offline_access"


def test_a_web_app_learns_that_the_person_cancelled(live_service: Service, apps: Apps) -> None:
    client = client_of(apps.web, "client_secret_basic")
    url, state = client.create_authorization_url(
        live_service.discovery()["authorization_endpoint"], code_verifier=generate_token(48), prompt="consent"
    )
    callback = Person(live_service, ADA, decision="cancel").go(url)
    answer = parse_qs(urlsplit(callback).query)
    assert (answer["error"], answer["state"]) == (["access_denied"], [state])
    assert "code" not in answer


def test_a_web_app_asks_for_more(live_service: Service, apps: Apps) -> None:
    metadata = live_service.discovery()
    (two_factors, phishing_resistant) = metadata["acr_values_supported"]
    client, verifier = client_of(apps.web, "client_secret_basic"), generate_token(48)
    at = metadata["authorization_endpoint"]

    wish, state = client.create_authorization_url(at, code_verifier=verifier, acr_values=two_factors)
    callback = Person(live_service, ADA).go(wish)
    tokens = client.fetch_token(
        metadata["token_endpoint"], authorization_response=callback, state=state, code_verifier=verifier
    )
    claims = read_id_token(metadata, tokens["id_token"], apps.web.client_id, None)
    assert "acr" not in claims
    assert claims["amr"] == ["pwd"]

    must = json.dumps({"id_token": {"acr": {"essential": True, "values": [phishing_resistant]}}})
    url, state = client.create_authorization_url(at, code_verifier=verifier, claims=must)
    answer = parse_qs(urlsplit(Person(live_service, ADA, decision="cancel").go(url)).query)
    assert (answer["error"], answer["state"]) == (["unmet_authentication_requirements"], [state])


def test_a_wrong_secret_is_told_apart_from_a_wrong_code(live_service: Service, apps: Apps) -> None:
    token_endpoint = live_service.discovery()["token_endpoint"]
    stranger = OAuth2Client(apps.web.client_id, "not-the-secret", redirect_uri=apps.web.redirect_uri)
    with pytest.raises(OAuthError) as refused:
        stranger.fetch_token(token_endpoint, code="unknown", code_verifier=generate_token(48))
    assert refused.value.error == "invalid_client"
    with pytest.raises(OAuthError) as refused:
        client_of(apps.web, "client_secret_basic").fetch_token(
            token_endpoint, code="unknown", code_verifier=generate_token(48)
        )
    assert refused.value.error == "invalid_grant"
