"""PKCE with S256 (RFC 7636), checked before anything is shown and again at the exchange."""

import pytest
from django.test import Client as Browser

from oidc.models import AccessToken, AuthorizationCode, Client
from tests.relying_party import RelyingParty, answer_of, challenge_of

VERIFIER = "a" * 43


MALFORMED = [
    None, "", "a" * 42, "a" * 44, "a" * 128, "a" * 43 + "=", "a" * 42 + "+", "a" * 42 + "/", "a" * 42 + ".",
    "a" * 42 + "~", "a" * 42 + " ", "a" * 42 + "\n", "a" * 42 + "\u0430", "\u0661" * 43, "a" * 42 + "\x00",
]  # fmt: skip


@pytest.mark.parametrize("challenge", MALFORMED)
def test_a_missing_or_malformed_challenge_is_refused_before_a_page(spa: Client, challenge: str | None) -> None:
    for prompt in (None, "none"):
        response = RelyingParty(spa, Browser()).authorize(code_challenge=challenge, prompt=prompt)
        assert answer_of(response)["error"] == "invalid_request"


@pytest.mark.parametrize("method", [None, "", "plain", "PLAIN", "s256", "S512", "S256 ", "none", "S256,plain"])
def test_every_method_but_s256_is_refused_before_a_page(app: RelyingParty, method: str | None) -> None:
    assert answer_of(app.authorize(code_challenge_method=method))["error"] == "invalid_request"
    assert answer_of(app.authorize(code_challenge_method=method, prompt="none"))["error"] == "invalid_request"


def test_every_type_of_client_needs_it(web_app: RelyingParty) -> None:
    for kind in Client.Type.values:
        Client.objects.filter(pk=web_app.client.pk).update(type=kind)
        answer = answer_of(web_app.authorize(code_challenge=None, code_challenge_method=None))
        assert answer["error"] == "invalid_request"


def test_the_services_own_apps_need_it_too(app: RelyingParty) -> None:
    Client.objects.filter(pk=app.client.pk).update(first_party=True)
    assert answer_of(app.authorize(code_challenge=None))["error"] == "invalid_request"


WRONG = [
    "wrong" * 10, "", "a" * 42, "a" * 129, "\u00e9" * 43, VERIFIER + "b", VERIFIER[:-1], VERIFIER.upper(),
    f" {VERIFIER}", f"{VERIFIER}\n",
]  # fmt: skip


@pytest.mark.parametrize("verifier", WRONG)
def test_a_wrong_verifier_is_rejected_and_leaves_the_code_valid(app: RelyingParty, verifier: str) -> None:
    code = app.code(code_challenge=challenge_of(VERIFIER))
    response = app.exchange(code, code_verifier=verifier)
    assert response.status_code == 400
    assert response.json()["error"] in ("invalid_grant", "invalid_request")
    assert not AccessToken.objects.exists()
    assert app.exchange(code, code_verifier=VERIFIER).status_code == 200


def test_a_missing_verifier_is_rejected(app: RelyingParty) -> None:
    form = {"grant_type": "authorization_code", "code": app.code(), "redirect_uri": app.redirect_uri}
    response = app.post("/connect/token", form | app.credentials())
    assert response.status_code == 400
    assert not AccessToken.objects.exists()


def test_the_challenge_is_rejected_as_verifier(app: RelyingParty) -> None:
    code = app.code()
    assert app.exchange(code, code_verifier=challenge_of(app.verifier)).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("verifier", ["a" * 42, "a" * 129, "a" * 42 + "+", "a" * 42 + "\u00e9", "a b" * 15])
def test_a_verifier_that_no_client_may_make_is_refused_even_if_its_hash_fits(app: RelyingParty, verifier: str) -> None:
    response = app.exchange(app.code(code_challenge=challenge_of(verifier)), code_verifier=verifier)
    assert response.json()["error"] == "invalid_grant"
    assert not AccessToken.objects.exists()


@pytest.mark.parametrize("verifier", ["a" * 43, "a" * 128, "-._~" * 11])
def test_the_longest_and_most_unusual_verifiers_are_accepted(app: RelyingParty, verifier: str) -> None:
    code = app.code(code_challenge=challenge_of(verifier))
    assert app.exchange(code, code_verifier=verifier).status_code == 200


@pytest.mark.parametrize("stored", ["", None])
def test_a_code_without_a_challenge_cannot_be_exchanged(app: RelyingParty, stored: str | None) -> None:
    code = app.code()
    AuthorizationCode.objects.update(
        code_challenge=stored or "", code_challenge_method="" if stored is None else "S256"
    )
    response = app.exchange(code)
    assert response.status_code == 400
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": app.redirect_uri}
    assert app.post("/connect/token", form | app.credentials()).status_code == 400
    assert not AccessToken.objects.exists()


def test_a_code_with_a_plain_challenge_cannot_be_exchanged(app: RelyingParty) -> None:
    code = app.code()
    AuthorizationCode.objects.update(code_challenge=VERIFIER, code_challenge_method="plain")
    assert app.exchange(code, code_verifier=VERIFIER).status_code == 400
    assert not AccessToken.objects.exists()
