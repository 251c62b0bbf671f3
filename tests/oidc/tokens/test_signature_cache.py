"""A token whose signature was verified a moment ago: what is asked all the same (oidc/tokens/jwt.py)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS

from oidc.errors import InvalidToken
from oidc.models import SigningKey
from oidc.tokens import jwt, signing_keys
from oidc.tokens.access_tokens import find_access_token
from tests.relying_party import RelyingParty


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Each signature that was checked."""
    seen: list[Any] = []
    real = JWS.verify

    def note(found: JWS, *args: Any, **options: Any) -> None:
        seen.append(found)
        real(found, *args, **options)

    monkeypatch.setattr(JWS, "verify", note)
    return seen


def test_a_signature_is_checked_once(app: RelyingParty, checks: list[Any]) -> None:
    token = app.tokens()["access_token"]
    checks.clear()
    for _ in range(3):
        assert app.call("/v1/me", token).status_code == 200
    assert len(checks) == 1


def test_another_signature_on_the_same_claims_is_another_token(app: RelyingParty) -> None:
    token = app.tokens()["access_token"]
    assert app.call("/v1/me", token).status_code == 200
    changed = token[:-8] + ("A" * 8 if token[-8:] != "A" * 8 else "B" * 8)
    assert app.call("/v1/me", changed).status_code == 401
    assert app.call("/v1/me", token + "A").status_code == 401


def test_a_cached_token_expires_in_time(
    app: RelyingParty, stopped_clock: None, later: Callable[[float], None], settings: Any
) -> None:
    token = app.tokens()["access_token"]
    jwt.verify_access_token(token)
    later(settings.ACCESS_TOKEN_SECONDS - 1)
    jwt.verify_access_token(token)
    later(2)
    with pytest.raises(InvalidToken, match="expired"):
        jwt.verify_access_token(token)


def test_a_withdrawn_key_takes_effect_immediately(app: RelyingParty) -> None:
    token = app.tokens()["access_token"]
    jwt.verify_access_token(token)
    SigningKey.objects.update(withdrawn_at=SigningKey.objects.get().created_at)
    signing_keys.reload_keyring()
    with pytest.raises(InvalidToken, match="kid"):
        jwt.verify_access_token(token)


def test_a_key_of_the_same_name_is_not_the_same_key(
    app: RelyingParty, checks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = app.tokens()["access_token"]
    jwt.verify_access_token(token)
    jwt.verify_access_token(token)
    known = len(checks)
    published = signing_keys.published_key(SigningKey.objects.get().kid)
    assert published is not None
    other = replace(published, public=JWK.generate(kty="RSA", size=2048))
    monkeypatch.setattr(signing_keys, "published_key", lambda kid: other)
    with pytest.raises(InvalidToken, match="signature"):
        jwt.verify_access_token(token)
    assert len(checks) == known + 1


@pytest.mark.parametrize("setting", ["ISSUER", "BASE_URL"])
def test_issuer_and_audience_are_checked_each_time(app: RelyingParty, settings: Any, setting: str) -> None:
    token = app.tokens()["access_token"]
    find_access_token(token)
    setattr(settings, setting, "https://elsewhere.example.com")
    with pytest.raises(InvalidToken):
        find_access_token(token)


def test_it_is_bounded_and_the_oldest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jwt, "MOST_TOKENS", 3)
    cache = jwt.SignatureCache()
    claims: Any = object()
    for number in range(5):
        cache.add(str(number), claims)
    assert [number for number in range(5) if cache.find(str(number))] == [2, 3, 4]
    assert len(cache) == 3


def test_nothing_that_was_refused_is_remembered(app: RelyingParty) -> None:
    jwt.verified_lately.clear()
    token = app.tokens()["access_token"]
    for bad in (token[:-8] + "A" * 8, token.partition(".")[0], "", "a.b.c"):
        with pytest.raises(InvalidToken):
            jwt.verify_access_token(bad)
    assert len(jwt.verified_lately) == 0
