"""Hostile input to the introspection endpoint: whatever is asked about, the response is `{"active": false}`."""

import base64
import json
from typing import Any

import pytest
from django.conf import settings as configured

from accounts.models import Account
from api.keys import CHECKSUM_LENGTH, checksum
from core import clock
from oidc.models import TokenFamily
from oidc.tokens import jwt
from tests.api.introspecting import INACTIVE, Server, make_server, post
from tests.factories import make_access_token, make_client, make_key, make_project
from tests.relying_party import RelyingParty


@pytest.fixture
def server(db: None) -> Server:
    return make_server()


def test_tokens_of_other_kinds(server: Server, web_app: RelyingParty) -> None:
    tokens = web_app.tokens(scope="openid email offline_access")
    for kind in ("access_token", "refresh_token", "id_token"):
        assert server.learn(tokens[kind]) == INACTIVE, kind


def test_a_token_of_api_a_at_api_b(server: Server, person: Account) -> None:
    other = make_server("tasks")
    raw = make_access_token(make_client(), person, ["tasks.read"], "https://tasks.example.com")
    assert other.learn(raw)["active"] is True
    assert server.learn(raw) == INACTIVE


def test_a_token_with_scopes_of_another_api(server: Server, person: Account) -> None:
    make_server("tasks")
    raw = make_access_token(make_client(), person, ["openid", "tasks.read"], "https://calendar.example.com")
    assert server.learn(raw) == INACTIVE


def test_a_key_of_another_api(server: Server, person: Account) -> None:
    for permissions in ([], ["account.read"]):
        assert server.learn(make_key(make_project(person), person, permissions)[1]) == INACTIVE


def test_a_key_with_another_secret(server: Server, person: Account) -> None:
    raw = make_key(make_project(person), person, ["calendar.read"])[1]
    assert server.learn(raw)["active"] is True
    forged = raw[: -CHECKSUM_LENGTH - 1] + ("a" if raw[-CHECKSUM_LENGTH - 1] != "a" else "b")
    assert server.learn(forged + checksum(forged)) == INACTIVE
    assert server.learn(raw[:-1]) == server.learn(raw + "x") == INACTIVE


@pytest.mark.parametrize(
    "audience",
    [
        ["https://calendar.example.com"],
        ["https://calendar.example.com", "https://tasks.example.com"],
        {"https://calendar.example.com": 1},
        None,
        "https://calendar.example.com/",
        "HTTPS://calendar.example.com",
        configured.BASE_URL,
    ],
)
def test_another_form_of_aud(server: Server, person: Account, audience: Any) -> None:
    good = make_access_token(make_client(), person, ["calendar.read"], "https://calendar.example.com")
    assert server.learn(good)["active"] is True
    body = good.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    assert server.learn(jwt.sign(claims | {"aud": audience}, jwt.ACCESS_TOKEN_TYP)) == INACTIVE
    # Signed by this service, but never issued.
    assert server.learn(jwt.sign(claims | {"jti": "other"}, jwt.ACCESS_TOKEN_TYP)) == INACTIVE
    assert server.learn(jwt.sign(claims, jwt.ID_TOKEN_TYP)) == INACTIVE


def test_garbage(server: Server, person: Account) -> None:
    good = make_access_token(make_client(), person, ["calendar.read"], "https://calendar.example.com")
    head, body, signature = good.split(".")
    for raw in (
        "x", ".", "..", "a.b.c", "\x00", f"{good}\x00", f"\x00{good}", "\U0001f600",
        "é" * 100, "x" * 20_000, good + " ", f" {good}", f"Bearer {good}", f"{head}.{body}.", f"{head}..{signature}",
        f"{good}.x", good.upper(), "op_key_", "op_key_x", "op_key_" + "x" * 61, "[]", "{}", "null", "' OR 1=1 --",
        "eyJhbGciOiJub25lIn0.e30.", f"eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0.{body}.", "%00", "\r\n", "\u202e",
    ):  # fmt: skip
        assert server.learn(raw) == INACTIVE, raw
    for encoded in ("%00", "%ff", "%c3%28", good + "%00", "%ed%a0%80"):
        response = post(f"token={encoded}", server.authorization)
        assert (response.status_code, response.json()) == (200, INACTIVE), encoded


def test_inactive_answers_are_the_same_byte_for_byte(server: Server, person: Account) -> None:
    ended = make_access_token(make_client(), person, ["calendar.read"], "https://calendar.example.com")
    TokenFamily.objects.update(revoked_at=clock.now())
    no_permission = make_key(make_project(person), person, [])[1]
    other = make_access_token(make_client(), person)
    answers = [server.ask(raw) for raw in (ended, no_permission, other, "garbage", "\x00")]
    assert {answer.content for answer in answers} == {b'{"active": false}'}
    assert len({tuple(sorted(set(answer.headers) - {"X-Request-ID"})) for answer in answers}) == 1


def test_nothing_personal_is_returned(server: Server, person: Account) -> None:
    raw = make_access_token(
        make_client(), person, ["openid", "email", "profile", "calendar.read"], server.api.identifier
    )
    text = server.ask(raw).content.decode()
    for secret in (person.email, person.given_name, person.family_name, f'"{person.pk}"'):
        assert str(secret) not in text
    assert server.learn(raw)["scope"] == "calendar.read"


def test_hostile_credentials_are_never_a_500(server: Server) -> None:
    for public_id in ("", "\x00", "api_\x00", "é", "x" * 100_000, "' OR 1=1 --", "api_%", "api_" + "\u202e", ":", "::"):
        for secret in ("", "\x00", "é" * 1000, server.secret, "x" * 100_000):
            response = post({"token": "x", "client_id": public_id, "client_secret": secret}, REMOTE_ADDR="198.51.100.1")
            assert response.status_code in (400, 401, 429)
            pair = base64.b64encode(f"{public_id}:{secret}".encode()).decode()
            assert post({"token": "x"}, f"Basic {pair}").status_code in (401, 429)
