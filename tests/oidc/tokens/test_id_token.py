"""The ID token: its header and its claims, exactly (OpenID Connect Core 2)."""

import base64
import hashlib

import pytest

from accounts.models import Account, PairwiseSubject
from oidc.tokens import signing_keys
from tests.relying_party import RelyingParty, claims_of, header_of

ALWAYS = {"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "sid"}
EMAIL = {"email", "email_verified"}
PROFILE = {"name", "given_name", "family_name"}


@pytest.mark.parametrize(
    ("scope", "claims"),
    [
        ("openid", set()),
        ("openid email", EMAIL),
        ("openid profile", PROFILE),
        ("openid email profile offline_access", EMAIL | PROFILE),
    ],
)
def test_an_id_token_has_exactly_the_claims_of_the_granted_scopes(
    app: RelyingParty, scope: str, claims: set[str]
) -> None:
    assert set(claims_of(app.tokens(scope=scope)["id_token"])) == ALWAYS | claims


def test_claims_have_the_values_of_the_account(app: RelyingParty, person: Account) -> None:
    claims = claims_of(app.tokens()["id_token"])
    assert claims["iss"] == "http://localhost:8000/"
    assert claims["aud"] == app.client.client_id
    assert claims["sub"] == PairwiseSubject.objects.get(account=person).sub
    assert claims["nonce"] == app.nonce
    assert claims["exp"] - claims["iat"] == 300
    assert isinstance(claims["auth_time"], int)
    assert claims["auth_time"] <= claims["iat"]
    assert claims["email"] == "ada@example.com"
    assert claims["email_verified"] is True
    assert (claims["name"], claims["given_name"], claims["family_name"]) == ("Ada Lovelace", "Ada", "Lovelace")


def test_the_header_names_our_algorithm_and_key(app: RelyingParty) -> None:
    header = header_of(app.tokens()["id_token"])
    assert header == {"typ": "JWT", "alg": "RS256", "kid": signing_keys.signing_key().kid}


def test_at_hash_binds_the_access_token(app: RelyingParty) -> None:
    tokens = app.tokens()
    for answer in (tokens, app.refresh(tokens["refresh_token"]).json()):
        half = hashlib.sha256(answer["access_token"].encode()).digest()[:16]
        expected = base64.urlsafe_b64encode(half).rstrip(b"=").decode()
        assert claims_of(answer["id_token"])["at_hash"] == expected


def test_a_claim_without_a_value_is_left_out(app: RelyingParty, person: Account) -> None:
    Account.objects.filter(pk=person.pk).update(family_name=None, given_name="Ada")
    claims = claims_of(app.tokens(scope="openid profile")["id_token"])
    assert set(claims) == ALWAYS | {"name", "given_name"}
    assert claims["name"] == "Ada"


def test_a_picture_is_a_claim_of_profile(app: RelyingParty, person: Account) -> None:
    Account.objects.filter(pk=person.pk).update(picture="pictures/x.webp")
    assert claims_of(app.tokens(scope="openid profile")["id_token"])["picture"].startswith("http://localhost:8000/")
    assert "picture" not in claims_of(app.tokens(scope="openid email")["id_token"])


def test_an_unverified_email_address_is_returned_as_unverified(app: RelyingParty, person: Account) -> None:
    Account.objects.filter(pk=person.pk).update(email_verified=False)
    assert claims_of(app.tokens()["id_token"])["email_verified"] is False


def test_account_read_adds_no_claims(app: RelyingParty) -> None:
    app.client.approved_scopes = "account.read"
    app.client.save()
    assert set(claims_of(app.tokens(scope="openid account.read")["id_token"])) == ALWAYS


def test_values_are_fresh_at_each_refresh(app: RelyingParty, person: Account) -> None:
    tokens = app.tokens()
    Account.objects.filter(pk=person.pk).update(given_name="Augusta")
    refreshed = app.refresh(tokens["refresh_token"]).json()
    assert claims_of(refreshed["id_token"])["given_name"] == "Augusta"


def test_id_tokens_are_not_stored(app: RelyingParty) -> None:
    from oidc.models.tokens import IDToken

    app.tokens()
    assert not IDToken.objects.exists()
