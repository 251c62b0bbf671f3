"""Test what each guide to receive events has to show: which tokens end sessions of its app, and which it rejects."""

import base64
import contextlib
import hashlib
import hmac
import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from core.credentials import random_text
from oidc.events.tokens import EVENT_TOKEN_TYP, LOGOUT_TOKEN_TYP
from oidc.values.event_types import LOGOUT_URI, EventType
from tests.clients.ended_sessions import delivered, remove_app, sign_out
from tests.clients.person import PASSWORD, Person
from tests.guides.journey import Paths, sign_in
from tests.guides.reading import OpenGuide, open_guide
from tests.guides.tokens import latest_session
from tests.services import keeper
from tests.services.service import Service

NEW_PASSWORD = f"{PASSWORD} 2"
LOGOUT, EVENTS = "/backchannel-logout", "/events"
TYPES = {LOGOUT: "application/x-www-form-urlencoded", EVENTS: "application/secevent+jwt"}
PRINT_KEY = """
import json
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from oidc.tokens.signing_keys import signing_key
key = signing_key()
pem = key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
print(json.dumps({"kid": key.kid, "pem": pem}))
"""
# Libraries use different errors for a missing claim (RFC 8935 §2.4).
MISSING = {"without iss": "invalid_issuer", "without aud": "invalid_audience"}
Claims = dict[str, Any]


@dataclass(frozen=True)
class Signer:
    """The signing key of the running service, to sign tokens that the service itself would not send."""

    kid: str
    pem: str

    def sign(self, claims: Claims, typ: str) -> str:
        return jwt.encode(claims, self.private, "RS256", {"kid": self.kid, "typ": typ})

    @cached_property
    def private(self) -> RSAPrivateKey:
        key = load_pem_private_key(self.pem.encode(), None)
        assert isinstance(key, RSAPrivateKey)
        return key

    @cached_property
    def stranger(self) -> RSAPrivateKey:
        """A key that does not belong to the service."""
        return generate_private_key(65537, 2048)


def signer_of(service: Service) -> Signer:
    """Read the service's key from its database."""
    return Signer(**json.loads(service.shell(PRINT_KEY)))


@dataclass
class Receiver:
    """The app of a guide that receives events, and its person."""

    guide: OpenGuide
    paths: Paths
    signer: Signer

    @property
    def client_id(self) -> str:
        return str(self.guide.client["client_id"])

    def sign_in(self) -> tuple[str, str]:
        """Sign in to the app, and return `sub` and `sid` of the session."""
        assert "Hello, Ada" in sign_in(self.guide, self.paths).text
        return latest_session(self.guide.service, self.client_id)

    def is_signed_in(self) -> bool:
        return "Hello, Ada" in self.guide.person.browser.get(f"{self.guide.origin}/").text

    def append(self, file: str, code: str) -> None:
        """Add lines to the end of a file."""
        with (self.guide.folder / file).open("a", encoding="utf-8") as opened:
            opened.write(f"\n{code}\n")

    def post(self, path: str, body: str, content_type: str = "") -> httpx.Response:
        headers = {"Content-Type": content_type or TYPES[path]}
        return httpx.post(f"{self.guide.origin}{path}", content=body, headers=headers, timeout=20)

    def send(self, path: str, token: str) -> httpx.Response:
        """Send a token as the service does."""
        return self.post(path, f"logout_token={token}" if path == LOGOUT else token)

    def claims(self, path: str, sub: str, event: EventType = EventType.SESSIONS_REVOKED) -> Claims:
        """Return the claims of a token that ends all sessions of a person."""
        now, issuer = int(time.time()), self.guide.service.issuer
        both: Claims = {"iss": issuer, "aud": self.client_id, "iat": now, "jti": random_text(22)}
        if path == LOGOUT:
            return both | {"exp": now + 120, "events": {LOGOUT_URI: {}}, "sub": sub}
        return both | {"events": {event.uri: {}}, "sub_id": {"format": "iss_sub", "iss": issuer, "sub": sub}}


def open_receiver(service: Service, name: str, folder: Path, signer: Signer) -> Receiver:
    """Read a guide as the developer of an app that is registered with the URLs of its receiver."""
    port = keeper.free_port()
    origin = f"http://localhost:{port}"
    urls = {"backchannel_logout_uri": f"{origin}{LOGOUT}", "events_url": f"{origin}{EVENTS}"}
    guide = open_guide(service, f"events-{name}", folder, port=port, **urls)
    return Receiver(guide, Paths(sign_in="/oidc/authenticate/" if name == "django" else "/sign-in"), signer)


def check_receiver(one: Receiver) -> None:
    """Check everything that an app which receives events has to do."""
    check_deliveries(one)
    check_tokens(one)
    check_refusals(one)


def check_deliveries(one: Receiver) -> None:
    """Sign out of the service, remove the app and change the password: each ends the session of the app."""
    person = one.guide.person
    causes: dict[Callable[[Person], None], tuple[str, ...]] = {
        sign_out: ("logout", "session-revoked"),
        remove_app: ("logout", "tokens-revoked"),
        change_password: ("logout", "session-revoked"),
    }
    for cause, events in causes.items():
        one.sign_in()
        assert one.is_signed_in()
        with contextlib.ExitStack() as waiting:
            for event in events:
                waiting.enter_context(delivered(one.guide.service, one.client_id, event))
            cause(person)
        assert not one.is_signed_in(), one.guide.log.read_text(errors="replace")[-3000:]


def change_password(person: Person) -> None:
    """Change the password in another browser, which signs this one out."""
    elsewhere = Person(person.service, person.email)
    page = elsewhere.visit(f"{person.service.address}/account/password/change/")
    changed = elsewhere.fill_in(
        page, "oldpassword", oldpassword=PASSWORD, password1=NEW_PASSWORD, password2=NEW_PASSWORD
    )
    assert changed.status_code == 302, changed.text
    person.password = NEW_PASSWORD


def check_tokens(one: Receiver) -> None:
    """Check which sessions a token ends, and that it does not end sessions that begin later."""
    sub, sid = one.sign_in()
    for path, claims in _tokens_about_others(one, sub):
        _accept(one, path, claims)
        assert one.is_signed_in(), claims

    for path, claims in _ending_tokens(one, sub, sid):
        sub, _ = one.sign_in()
        _accept(one, path, claims)
        assert not one.is_signed_in(), claims

    for path in TYPES:
        one.sign_in()
        claims = one.claims(path, sub)
        token = _accept(one, path, claims)
        one.sign_in()
        assert one.send(path, token).is_success
        _accept(one, path, claims | {"iat": claims["iat"] + 1})  # as the service signs it for the next try
        assert one.is_signed_in(), "the session is younger than the token"


def _accept(one: Receiver, path: str, claims: Claims) -> str:
    token = one.signer.sign(claims, LOGOUT_TOKEN_TYP if path == LOGOUT else EVENT_TOKEN_TYP)
    answer = one.send(path, token)
    assert (answer.status_code, answer.text) == (200 if path == LOGOUT else 202, ""), answer.text
    assert path == EVENTS or "no-store" in answer.headers["Cache-Control"]
    return token


def _tokens_about_others(one: Receiver, sub: str) -> Iterator[tuple[str, Claims]]:
    for path in TYPES:
        yield path, one.claims(path, random_text(43))
    yield LOGOUT, one.claims(LOGOUT, sub) | {"sid": random_text(43)}
    yield EVENTS, one.claims(EVENTS, sub) | {"events": {EventType.SESSION_REVOKED.uri: {"sid": random_text(43)}}}
    for event in (EventType.ACCOUNT_ENABLED, EventType.CREDENTIAL_CHANGE, EventType.IDENTIFIER_CHANGED):
        yield EVENTS, one.claims(EVENTS, sub, event)
    test = one.claims(EVENTS, sub, EventType.VERIFICATION)
    yield EVENTS, test | {"sub_id": {"format": "opaque", "id": one.client_id}}


def _ending_tokens(one: Receiver, sub: str, sid: str) -> Iterator[tuple[str, Claims]]:
    yield LOGOUT, one.claims(LOGOUT, sub) | {"sid": sid}
    yield EVENTS, one.claims(EVENTS, sub) | {"events": {EventType.SESSION_REVOKED.uri: {"sid": sid}}}
    for event in (EventType.ACCOUNT_DISABLED, EventType.ACCOUNT_PURGED, EventType.TOKENS_REVOKED):
        yield EVENTS, one.claims(EVENTS, sub, event)


def check_refusals(one: Receiver) -> None:
    """Send tokens and bodies that are not valid: none of them ends the session or causes an error of the app."""
    sub, sid = one.sign_in()
    for path in TYPES:
        sent = itertools.chain(wrong_tokens(one, path, sub, sid), odd_tokens(one, path, sub))
        for name, token in sent:
            _refuse(path, name, one.send(path, token))
        for name, body in {"no body": "", "1 MB": "x" * 1_000_000, "no form": "%00=%ff&&;=\0"}.items():
            _refuse(path, name, one.post(path, body))
        good = one.claims(path, sub)
        other = EVENTS if path == LOGOUT else LOGOUT
        _refuse(path, "no type", one.post(path, "", "text/plain"))
        right = one.signer.sign(good, LOGOUT_TOKEN_TYP if path == LOGOUT else EVENT_TOKEN_TYP)
        _refuse(other, "of the other URL", one.send(other, right))
        assert httpx.get(f"{one.guide.origin}{path}").status_code in (404, 405)
    assert one.is_signed_in()


def _refuse(path: str, name: str, answer: httpx.Response) -> None:
    assert answer.status_code == 400, (path, name, answer.status_code, answer.text[:2000])
    assert "no-store" in answer.headers["Cache-Control"], name
    body = answer.json()
    if path == LOGOUT:
        assert body["error"] == "invalid_request", name
        assert body["error_description"], name
        return
    expected = {"wrong issuer": "invalid_issuer", "wrong audience": "invalid_audience"}.get(name, "invalid_request")
    assert body["err"] in (expected, MISSING.get(name)), (name, body)
    assert body["description"], name


def wrong_tokens(one: Receiver, path: str, sub: str, sid: str) -> Iterator[tuple[str, str]]:
    """Yield tokens that the service signed, but whose claims are for another app, or are old or malformed."""
    typ, now = LOGOUT_TOKEN_TYP if path == LOGOUT else EVENT_TOKEN_TYP, int(time.time())
    good = one.claims(path, sub)
    wrong: dict[str, Claims] = {
        "wrong issuer": {"iss": one.guide.service.address},
        "wrong audience": {"aud": f"{one.client_id}x"},
        "expired": {"exp": now - 120, "iat": now - 240},
        "old": {"iat": now - 3600, "exp": now + 3600},
        "from the future": {"iat": now + 3600, "exp": now + 7200},
    }
    missing = ["iss", "aud", "iat", "jti", "events"]
    if path == LOGOUT:
        wrong |= {"with a nonce": {"nonce": "n"}, "another event": {"events": {EventType.SESSIONS_REVOKED.uri: {}}}}
        missing += ["exp", "sub"]
    else:
        missing += ["sub_id"]
    for name, changes in wrong.items():
        yield name, one.signer.sign(good | changes, typ)
    for left_out in missing:
        claims = {name: value for name, value in good.items() if name != left_out}
        yield f"without {left_out}", one.signer.sign(claims, typ)
    id_token = good | {"sid": sid, "sub": sub, "exp": now + 3600, "nonce": "n", "auth_time": now}
    yield "an ID token", one.signer.sign(id_token, "JWT")
    yield "an access token", one.signer.sign(good | {"exp": now + 3600}, "at+jwt")


def odd_tokens(one: Receiver, path: str, sub: str) -> Iterator[tuple[str, str]]:
    """Yield tokens that the service did not sign, and texts that are not tokens."""
    typ = LOGOUT_TOKEN_TYP if path == LOGOUT else EVENT_TOKEN_TYP
    claims, header = one.claims(path, sub), {"kid": one.signer.kid, "typ": typ}
    good = one.signer.sign(claims, typ)
    public = one.signer.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    yield "a stranger's key", jwt.encode(claims, one.signer.stranger, "RS256", header)
    yield "an unknown key", jwt.encode(claims, one.signer.stranger, "RS256", header | {"kid": "unknown"})
    yield "no signature", jwt.encode(claims, "", "none", header)
    yield "the public key as a password", _symmetric(claims, header, public)
    head, _, signature = good.split(".")
    yield "other claims", f"{head}.{_base64url(json.dumps(claims | {'jti': 'x'}).encode())}.{signature}"
    yield "cut", good[:-20]
    yield "no JWT", "x"
    yield "deep", f"{_base64url(b'[' * 10_000)}.e30.{signature}"


def _symmetric(claims: Claims, header: Claims, key: bytes) -> str:
    signed = f"{_base64url(json.dumps(header | {'alg': 'HS256'}).encode())}.{_base64url(json.dumps(claims).encode())}"
    return f"{signed}.{_base64url(hmac.digest(key, signed.encode(), hashlib.sha256))}"


def _base64url(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()
