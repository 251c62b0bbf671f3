"""The way itself: from the authorization request to signed-out, over HTTP."""

from tests.relying_party import RelyingParty, answer_of, claims_of, header_of


def test_a_person_consents_and_the_app_gets_tokens(app: RelyingParty) -> None:
    page = app.authorize()
    assert page.status_code == 200
    assert b"Orbit Notes" in page.content
    answer = answer_of(app.answer_consent(page))
    assert answer["state"] == app.state
    assert answer["iss"] == "http://localhost:8000/"
    response = app.exchange(answer["code"])
    assert response.status_code == 200, response.content
    tokens = response.json()
    assert set(tokens) == {"access_token", "token_type", "expires_in", "id_token", "refresh_token", "scope"}
    assert tokens["token_type"] == "Bearer"
    assert tokens["expires_in"] == 900
    access, identity = claims_of(tokens["access_token"]), claims_of(tokens["id_token"])
    assert header_of(tokens["access_token"])["typ"] == "at+jwt"
    assert set(access) == {"iss", "sub", "aud", "client_id", "scope", "iat", "exp", "jti"}
    assert identity["nonce"] == app.nonce
    assert identity["aud"] == app.client.client_id
    assert identity["email"] == "ada@example.com"
    assert identity["sub"] == access["sub"]
    me = app.call("/v1/me", tokens["access_token"])
    assert me.status_code == 200, me.content
    assert me.json()["id"] == access["sub"]
    info = app.call("/connect/userinfo", tokens["access_token"])
    assert info.json()["sub"] == access["sub"]
    refreshed = app.refresh(tokens["refresh_token"])
    assert refreshed.status_code == 200, refreshed.content
    again = claims_of(refreshed.json()["id_token"])
    assert "nonce" not in again
    assert again["auth_time"] == identity["auth_time"]
    revoked = app.post("/connect/revoke", {"token": refreshed.json()["refresh_token"]} | app.credentials())
    assert (revoked.status_code, revoked.json()) == (200, {})
    assert app.call("/v1/me", refreshed.json()["access_token"]).status_code == 401
    assert app.refresh(refreshed.json()["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_second_sign_in_does_not_ask_again(app: RelyingParty) -> None:
    app.tokens()
    assert "code" in answer_of(app.authorize())


def test_a_web_app_authenticates_with_its_secret(web_app: RelyingParty) -> None:
    assert web_app.tokens()["token_type"] == "Bearer"
