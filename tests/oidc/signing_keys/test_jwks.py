"""GET /.well-known/jwks (RFC 7517 §5)."""

from collections.abc import Callable

import pytest
from django.conf import settings
from django.test import Client as Browser
from jwcrypto.jwk import JWK
from jwcrypto.jwt import JWT

from oidc.models import SigningKey
from oidc.tokens import signing_keys
from tests.relying_party import RelyingParty, claims_of, header_of

PATH = "/.well-known/jwks"

pytestmark = pytest.mark.django_db


def kids(browser: Browser) -> list[str]:
    return [key["kid"] for key in browser.get(PATH).json()["keys"]]


def test_it_publishes_public_parts_only(client: Browser) -> None:
    response = client.get(PATH)
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    (key,) = response.json()["keys"]
    assert set(key) == {"kty", "n", "e", "kid", "use", "alg"}
    assert (key["kty"], key["use"], key["alg"]) == ("RSA", "sig", "RS256")
    assert key["kid"] == JWK(**key).thumbprint()


def test_tokens_verify_against_it(app: RelyingParty, client: Browser) -> None:
    answer = app.tokens()
    published = {key["kid"]: JWK(**key) for key in client.get(PATH).json()["keys"]}
    for name in ("access_token", "id_token"):
        token = answer[name]
        checked = JWT(jwt=token, key=published[header_of(token)["kid"]], algs=["RS256"])
        assert checked.claims
        assert claims_of(token)["iss"] == settings.ISSUER


def test_it_may_be_cached_for_less_than_a_key_is_published_ahead(client: Browser) -> None:
    cached = int(client.get(PATH)["Cache-Control"].rpartition("max-age=")[2])
    assert 0 < cached < settings.SIGNING_KEY_PUBLISH_AHEAD_SECONDS


def test_the_next_key_is_published_before_it_signs(client: Browser) -> None:
    (active,) = kids(client)
    assert signing_keys.rotate(now=True) == "published"
    signing_keys.reload_keyring()
    assert active in kids(client)
    assert len(kids(client)) == 2
    assert signing_keys.signing_key().kid == active


def test_a_retired_key_stays_while_what_it_signed_may_be_valid(client: Browser, later: Callable[[float], None]) -> None:
    (first,) = kids(client)
    signing_keys.rotate(now=True)
    signing_keys.rotate(now=True)
    assert SigningKey.objects.get(kid=first).state == SigningKey.State.RETIRED
    later(max(settings.ACCESS_TOKEN_SECONDS, settings.ID_TOKEN_SECONDS))
    signing_keys.reload_keyring()
    assert first in kids(client)
    later(24 * 3600)
    signing_keys.reload_keyring()
    assert first not in kids(client)
