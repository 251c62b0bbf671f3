"""Logout tokens and security event tokens: libraries verify them, and they contain what docs/events.md says."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.test import Client as Browser
from joserfc import jwt as joserfc_jwt
from joserfc.errors import BadSignatureError
from joserfc.jwk import KeySet
from jwcrypto.jwk import JWKSet
from jwcrypto.jwt import JWT, JWTMissingKey

from accounts.models import Account
from core import clock
from oidc.errors import InvalidToken
from oidc.events import registration
from oidc.events.queueing import end_app_sessions, queue_event
from oidc.models import Connection, EventReceiver, TokenFamily
from oidc.tokens import jwt
from oidc.values.event_types import LOGOUT_URI, EventType
from tests.inbox import Inbox, Received, send_due
from tests.relying_party import RelyingParty, claims_of
from tests.services import node

pytestmark = pytest.mark.django_db
Verified = list[tuple[dict[str, Any], dict[str, Any]]]
LOGOUT, EVENT = "logout+jwt", "secevent+jwt"
CHANGE: dict[str, Any] = {"credential_type": "password", "change_type": "update"}


def typ_of(received: Received) -> str:
    """Return the `typ` that an app expects at a URL."""
    return LOGOUT if received.path == "/logout" else EVENT


def with_joserfc(received: list[Received], keys: dict[str, Any], audience: str) -> Verified:
    found = []
    for each in received:
        token = joserfc_jwt.decode(each.token, KeySet.import_key_set(keys), algorithms=["RS256"])  # type: ignore[arg-type]
        values: Any = {name: {"essential": True, "value": value} for name, value in expected(audience).items()}
        joserfc_jwt.JWTClaimsRegistry(now=clock.timestamp, **values).validate(token.claims)
        assert token.header["typ"] == typ_of(each)
        found.append((token.header, token.claims))
    return found


def with_jwcrypto(received: list[Received], keys: dict[str, Any], audience: str) -> Verified:
    known = JWKSet.from_json(json.dumps(keys))
    found = []
    for each in received:
        token = JWT(algs=["RS256"], check_claims=expected(audience), expected_type="JWS")
        token.deserialize(each.token, known)
        header = json.loads(token.header)
        assert header["typ"] == typ_of(each)
        found.append((header, json.loads(token.claims)))
    return found


def with_jose(received: list[Received], keys: dict[str, Any], audience: str) -> Verified:
    return [(header, claims) for header, claims in run_jose(received, keys, audience)]


def run_jose(received: list[Received], keys: dict[str, Any], audience: str) -> list[Any]:
    rules = {"issuer": settings.ISSUER, "audience": audience, "algorithms": ["RS256"], "maxTokenAge": 60}
    tokens = [(typ_of(each), each.token) for each in received]
    with node.start():
        given = {"TOKENS": json.dumps(tokens), "KEYS": json.dumps(keys), "RULES": json.dumps(rules)}
        done = node.run("event_tokens.mjs", env=given)
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def expected(audience: str) -> dict[str, str]:
    return {"iss": settings.ISSUER, "aud": audience}


LIBRARIES = [with_joserfc, with_jwcrypto, pytest.param(with_jose, marks=pytest.mark.node)]


@pytest.fixture
def session(listening: RelyingParty) -> dict[str, Any]:
    """The claims of the ID token of the app's session."""
    return claims_of(listening.tokens()["id_token"])


@pytest.fixture
def delivered(listening: RelyingParty, session: dict[str, Any], app_inbox: Inbox) -> list[Received]:
    """One delivery of each type, in the order of EventType."""
    connections = Connection.objects.filter(client=listening.client)
    end_app_sessions(TokenFamily.objects.filter(connection__in=connections))
    for event in EventType.choosable():
        if event != EventType.SESSION_REVOKED:
            members = CHANGE if event == EventType.CREDENTIAL_CHANGE else {}
            queue_event(event, connections, **members)
    receiver = EventReceiver.objects.get(client=listening.client, channel=EventReceiver.Channel.EVENTS)
    registration.send_test(receiver, listening.client.project.members.get(role="owner").account)
    send_due()
    order = [each.uri.rpartition("/")[2] for each in EventType]
    return sorted(app_inbox.received, key=lambda each: order.index(each.event))


@pytest.mark.parametrize("verify", LIBRARIES)
def test_libraries_verify_each_token(
    verify: Callable[..., Verified],
    delivered: list[Received],
    listening: RelyingParty,
    session: dict[str, Any],
    person: Account,
) -> None:
    keys = Browser().get("/.well-known/jwks").json()
    verified = verify(delivered, keys, listening.client.client_id)
    assert len(verified) == len(EventType)
    (logout_header, logout), *others = verified
    assert logout_header == {"typ": LOGOUT, "alg": "RS256", "kid": keys["keys"][0]["kid"]}
    own = {"iss": settings.ISSUER, "aud": listening.client.client_id, "iat": logout["iat"], "exp": logout["iat"] + 120}
    own |= {"jti": logout["jti"], "sub": session["sub"], "sid": session["sid"], "events": {LOGOUT_URI: {}}}
    assert logout == own

    members: dict[EventType, dict[str, Any]] = {
        EventType.SESSION_REVOKED: {"sid": session["sid"]},
        EventType.CREDENTIAL_CHANGE: CHANGE,
        EventType.IDENTIFIER_CHANGED: {"new-value": person.email},
    }
    for event, (header, claims) in zip(list(EventType)[1:], others, strict=True):
        assert header == logout_header | {"typ": EVENT}
        assert set(claims) == {"iss", "aud", "iat", "jti", "toe", "sub_id", "events"}
        assert list(claims["events"]) == [event.uri]
        content = claims["events"][event.uri]
        if event == EventType.VERIFICATION:
            assert claims["sub_id"] == {"format": "opaque", "id": listening.client.client_id}
            assert list(content) == ["state"]
            continue
        assert claims["sub_id"] == {"format": "iss_sub", "iss": settings.ISSUER, "sub": session["sub"]}
        if event in (EventType.SESSION_REVOKED, EventType.CREDENTIAL_CHANGE):
            assert content.pop("event_timestamp") == claims["toe"]
        assert content == members.get(event, {})
    assert len({claims["jti"] for _, claims in verified}) == len(EventType)


@pytest.mark.parametrize("verify", LIBRARIES[:2])
def test_libraries_refuse_a_changed_token(
    verify: Callable[..., Verified], delivered: list[Received], listening: RelyingParty
) -> None:
    keys = Browser().get("/.well-known/jwks").json()
    head, payload, signature = delivered[0].token.split(".")
    changed = Received("/logout", "", f"{head}.{payload[:-2]}AA.{signature}".encode())
    with pytest.raises((BadSignatureError, JWTMissingKey)):
        verify([changed], keys, listening.client.client_id)


@pytest.mark.node
def test_jose_tells_the_two_types_apart(delivered: list[Received], listening: RelyingParty) -> None:
    keys = Browser().get("/.well-known/jwks").json()
    others = {"/logout": "/events", "/events": "/logout"}
    swapped = [Received(others[each.path], "", each.token.encode()) for each in delivered]
    assert set(run_jose(swapped, keys, listening.client.client_id)) == {"ERR_JWT_CLAIM_VALIDATION_FAILED typ"}


def test_content_types_are_those_of_the_specifications(delivered: list[Received]) -> None:
    assert {(each.path, each.content_type) for each in delivered} == {
        ("/logout", "application/x-www-form-urlencoded"),
        ("/events", "application/secevent+jwt"),
    }
    assert delivered[0].body.startswith(b"logout_token=")


def test_the_service_accepts_them_neither_as_id_tokens_nor_as_access_tokens(
    delivered: list[Received], listening: RelyingParty
) -> None:
    assert len(delivered) == len(EventType)
    for token in (each.token for each in delivered):
        with pytest.raises(InvalidToken):
            jwt.verify_id_token_hint(token)
        with pytest.raises(InvalidToken):
            jwt.verify_access_token(token)
        for path in ("/v1/me", "/connect/userinfo"):
            assert listening.call(path, token).status_code == 401
