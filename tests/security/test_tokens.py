"""Algorithm and key come from us, never from a token's header (RFC 8725).

Each forged token has a row, so that it is refused by the check of the token itself.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.test import Client as Browser
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS

from core import clock
from core.credentials import digest
from core.database import encryption
from oidc.errors import InvalidToken
from oidc.models import AccessToken, SigningKey
from oidc.tokens import jwt, signing_keys
from tests.relying_party import FORM, RelyingParty, answer_of, claims_of, header_of

Changes = dict[str, Any]


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def our_key() -> JWK:
    """Return the active key with its private part, read as the service reads it."""
    row = SigningKey.objects.get(state=SigningKey.State.ACTIVE)
    return JWK.from_json(encryption.decrypt(row.private_encrypted))


def sign(header: Changes, claims: Changes, key: JWK | None = None) -> str:
    """Return a token with our active key, unless another is given."""
    token = JWS(json.dumps(claims).encode())
    token.allowed_algs = ["RS256", "RS512", "PS256", "HS256", "ES256"]
    token.add_signature(key or our_key(), protected=json.dumps(header))
    serialized: str = token.serialize(compact=True)
    return serialized


@pytest.fixture
def genuine(app: RelyingParty) -> str:
    token: str = app.tokens()["access_token"]
    return token


def is_refused(app: RelyingParty, token: str) -> bool:
    """Present a token for which there is a row, everywhere; tell whether everyone refuses it."""
    AccessToken.objects.update(token_checksum=digest(token), expires=clock.from_now(900))
    statuses = [app.call(path, token).status_code for path in ("/connect/userinfo", "/v1/me")]
    assert len(set(statuses)) == 1
    return bool(statuses[0] == 401)


def without(claims: Changes, *names: str) -> Changes:
    return {name: value for name, value in claims.items() if name not in names}


def test_the_test_forger_can_create_valid_tokens(app: RelyingParty, genuine: str) -> None:
    assert not is_refused(app, sign(header_of(genuine), claims_of(genuine) | {"jti": "another"}))


# --- alg ---


def test_unsigned_tokens(app: RelyingParty, genuine: str) -> None:
    for alg in ("none", "None", "NONE", "nOnE", "", None):
        unsigned = f"{encoded(header_of(genuine) | {'alg': alg})}.{genuine.split('.')[1]}."
        assert is_refused(app, unsigned), alg
        assert is_refused(app, unsigned + genuine.split(".")[2]), alg


def test_hmac_with_the_public_key(app: RelyingParty, genuine: str) -> None:
    ring_key = signing_keys.signing_key()
    public = ring_key.public.get_op_key("verify")
    secrets = [
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).strip(),
        public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        json.dumps(ring_key.public_jwk).encode(),
        ring_key.public_jwk["n"].encode(),
        b"",
    ]
    for secret in secrets:
        for alg in ("HS256", "RS256"):
            signed = f"{encoded(header_of(genuine) | {'alg': alg})}.{genuine.split('.')[1]}"
            mac = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
            assert is_refused(app, f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}")


@pytest.mark.parametrize("alg", ["RS512", "PS256"])
def test_other_algorithms_with_our_own_key(app: RelyingParty, genuine: str, alg: str) -> None:
    ours = our_key().export(as_dict=True)
    key = JWK(**without(ours, "alg", "use"))
    assert is_refused(app, sign(header_of(genuine) | {"alg": alg}, claims_of(genuine), key))


# --- Keys named by the token ---


def test_a_key_inside_the_token(app: RelyingParty, genuine: str) -> None:
    theirs = JWK.generate(kty="RSA", size=2048, kid="theirs")
    public = theirs.export_public(as_dict=True)
    ours = header_of(genuine)
    for header in (
        ours,
        ours | {"kid": "theirs"},
        ours | {"jwk": public},
        ours | {"jku": "https://evil.example.com/jwks"},
        ours | {"x5u": "https://evil.example.com/cert"},
        ours | {"x5c": ["MIIB"]},
        ours | {"kid": "theirs", "jwk": public},
        without(ours, "kid") | {"jwk": public},
    ):
        assert is_refused(app, sign(header, claims_of(genuine), theirs)), header


def test_headers_that_the_service_never_uses(app: RelyingParty, genuine: str) -> None:
    urls = {"jku": "https://evil.example.com/jwks", "x5u": "https://evil.example.com/"}
    for name, value in (urls | {"jwk": {}, "x5t": "x", "cty": "JWT", "zip": "DEF"}).items():
        assert is_refused(app, sign(header_of(genuine) | {name: value}, claims_of(genuine))), name


def part(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def signed_by_hand(header: Changes, genuine: str) -> str:
    """Return a token with our key's RS256 signature, whatever its header says."""
    return with_signature(f"{encoded(header)}.{genuine.split('.')[1]}")


def with_signature(signed: str) -> str:
    """Return header and claims, whatever they are, with our key's RS256 signature."""
    signature = our_key().get_op_key("sign").sign(signed.encode(), PKCS1v15(), SHA256())
    return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def test_critical_headers(app: RelyingParty, genuine: str) -> None:
    for crit in (["exp"], [], ["x"], "exp"):
        assert is_refused(app, signed_by_hand(header_of(genuine) | {"crit": crit, "exp": 1}, genuine)), crit


def test_claims_that_are_not_encoded(app: RelyingParty, genuine: str) -> None:
    """Refuse what RFC 7797 lets a signature cover: text as it is, in its place or sent apart."""
    header = encoded(header_of(genuine) | {"b64": False, "crit": ["b64"]})
    claims = json.dumps(claims_of(genuine), separators=(",", ":"))
    for text in (claims, genuine.split(".")[1]):
        _, _, signature = with_signature(f"{header}.{text}").rpartition(".")
        for middle in (text, part(text), ""):
            assert is_refused(app, f"{header}.{middle}.{signature}")
    for more in ({"crit": ["b64"]}, {"crit": "b64"}, {"cty": "JWT"}):
        for b64 in (True, False, None, 0):
            assert is_refused(app, signed_by_hand(header_of(genuine) | {"b64": b64, **more}, genuine)), (more, b64)
    assert is_refused(app, signed_by_hand(header_of(genuine) | {"b64": False}, genuine))


@pytest.mark.parametrize(("name", "bad"), [("alg", "none"), ("alg", "HS256"), ("typ", "JWT"), ("kid", "unknown")])
def test_a_header_with_a_repeated_member(app: RelyingParty, genuine: str, name: str, bad: str) -> None:
    """The last one counts (RFC 7515 §4), with us and with everything behind us, and it gets no other check."""
    good = header_of(genuine)
    claims, signature = genuine.split(".")[1:]
    rest = json.dumps(without(good, name))[1:]
    bad_last = part(f'{{"{name}":"{good[name]}","{name}":"{bad}",{rest}')
    bad_first = part(f'{{"{name}":"{bad}","{name}":"{good[name]}",{rest}')
    assert is_refused(app, with_signature(f"{bad_last}.{claims}"))
    for header in (bad_last, bad_first):
        assert is_refused(app, f"{header}.{claims}.")
        assert is_refused(app, f"{header}.{claims}.{signature}")
        mac = hmac.new(b"", f"{header}.{claims}".encode(), hashlib.sha256).digest()
        assert is_refused(app, f"{header}.{claims}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}")


def test_a_good_signature_under_the_name_of_another_algorithm(app: RelyingParty, genuine: str) -> None:
    assert not is_refused(app, signed_by_hand(header_of(genuine), genuine))
    for alg in ("RS512", "PS256", "HS256", "none", "rs256", "", None, ["RS256"]):
        assert is_refused(app, signed_by_hand(header_of(genuine) | {"alg": alg}, genuine)), alg


def test_unknown_and_unusual_key_ids(app: RelyingParty, genuine: str) -> None:
    _, claims, signature = genuine.split(".")
    unusual: list[Any] = ["unknown", "", None, 1, [], {}, "../../etc/passwd", "' OR 1=1 --", "x" * 5000, "\u0000"]
    for kid in unusual:
        header = encoded(header_of(genuine) | {"kid": kid})
        assert is_refused(app, f"{header}.{claims}.{signature}"), kid


def test_a_missing_key_id(app: RelyingParty, genuine: str) -> None:
    assert is_refused(app, sign(without(header_of(genuine), "kid"), claims_of(genuine)))


def test_a_published_key_signs_only_with_its_own_id(app: RelyingParty, genuine: str) -> None:
    signing_keys.rotate(now=True)
    signing_keys.reload_keyring()
    following = next(kid for kid in signing_keys.current_keyring().published if kid != signing_keys.signing_key().kid)
    assert is_refused(app, sign(header_of(genuine) | {"kid": following}, claims_of(genuine)))


# --- typ and claims ---


def test_another_type_of_token(app: RelyingParty, genuine: str) -> None:
    for typ in ("JWT", "jwt", "AT+JWT", "application/at+jwt", "at+jwt ", "", None):
        assert is_refused(app, sign(header_of(genuine) | {"typ": typ}, claims_of(genuine))), typ
    assert is_refused(app, sign(without(header_of(genuine), "typ"), claims_of(genuine)))


def test_an_id_token_is_rejected_as_access_token(app: RelyingParty) -> None:
    assert is_refused(app, app.tokens()["id_token"])


def test_an_access_token_is_rejected_as_id_token_hint(app: RelyingParty) -> None:
    token = app.tokens()["access_token"]
    assert answer_of(app.authorize(id_token_hint=token))["error"] == "invalid_request"


def test_other_issuers_audiences_and_times(app: RelyingParty, genuine: str) -> None:
    other, here = "https://other.example.com", "http://localhost:8000"
    wrong: dict[str, list[Any]] = {
        "iss": ["https://evil.example.com/", here, None, [f"{here}/"]],
        "aud": [other, f"{here}/", None, [], [here, other]],
        "exp": [0, 1, -1, None, "9999999999", True, 9999999999.5, [9999999999]],
    }
    for name, values in wrong.items():
        for value in values:
            changed = claims_of(genuine) | {name: value}
            assert is_refused(app, sign(header_of(genuine), changed)), (name, value)
        assert is_refused(app, sign(header_of(genuine), without(claims_of(genuine), name))), name


def test_an_expired_token_with_a_row_that_says_otherwise(
    app: RelyingParty, genuine: str, later: Callable[[float], None]
) -> None:
    later(settings.ACCESS_TOKEN_SECONDS)
    AccessToken.objects.update(expires=clock.from_now(900))
    assert app.call("/v1/me", genuine).status_code == 401


def test_more_scope_in_the_token_than_in_its_row_has_no_effect(app: RelyingParty) -> None:
    token = app.tokens(scope="openid email")["access_token"]
    claims = claims_of(token) | {"scope": "openid email profile account.read"}
    forged = sign(header_of(token), claims)
    AccessToken.objects.update(token_checksum=digest(forged))
    for path in ("/connect/userinfo", "/v1/me"):
        assert "name" not in app.call(path, forged).json()


# --- Form ---


def test_tampered_and_cut_tokens(app: RelyingParty, genuine: str) -> None:
    head, body, signature = genuine.split(".")
    other_body = encoded(claims_of(genuine) | {"sub": "someone else"})
    for token in (
        f"{head}.{other_body}.{signature}",
        f"{head}.{body}.{signature[:-4]}",
        f"{head}.{body}.",
        f"{head}.{body}",
        f"{head}..{signature}",
        f".{body}.{signature}",
        f"{genuine}.",
        f"{genuine}.{signature}",
        f"{head}.{body}.{signature}{signature}",
        f"{head}=.{body}.{signature}x",
    ):
        assert is_refused(app, token), token


# A letter of the last quantum stands for fewer bits than it has: 4 of them go unused where one byte is left over,
# 2 where there are two. Python's own decoder does not look at those (RFC 4648 §3.5).
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def test_a_signature_is_written_in_one_way(app: RelyingParty, genuine: str) -> None:
    signed, _, signature = genuine.rpartition(".")
    assert len(signature) % 4 == 2
    others = [f"{signature[:-1]}{letter}" for letter in LETTERS if letter != signature[-1]]
    others += [f"{signature}{more}" for more in ("=", "==", "A", "\n", " ", "%", "\u00e9")]
    others += [signature.replace("-", "+"), signature.replace("_", "/")]
    others += [f" {signature}", f"{signature[:9]}\n{signature[9:]}", f"{signature[:9]}={signature[9:]}"]
    for other in others:
        if other != signature:
            with pytest.raises(InvalidToken):
                jwt.verify_access_token(f"{signed}.{other}")
    jwt.verify_access_token(genuine)


def test_header_and_claims_are_written_in_one_way_too(app: RelyingParty, genuine: str) -> None:
    header, claims = (json.dumps(each, separators=(",", ":")) for each in (header_of(genuine), claims_of(genuine)))
    while len(header) % 3 != 1:
        header += " "
    while len(claims) % 3 != 1:
        claims += " "
    head, body = part(header), part(claims)
    jwt.verify_access_token(with_signature(f"{head}.{body}"))
    following = {letter: LETTERS[place + 1] for place, letter in enumerate(LETTERS[:-1])}
    for odd_head, odd_body in (
        (f"{head[:-1]}{following[head[-1]]}", body),
        (head, f"{body[:-1]}{following[body[-1]]}"),
        (f"{head}==", body),
        (head, f"{body}=="),
        (head, f"{body[:8]}\n{body[8:]}"),
        (head, f"{body} "),
    ):
        with pytest.raises(InvalidToken):
            jwt.verify_access_token(with_signature(f"{odd_head}.{odd_body}"))


ODD_CLAIMS = (
    "", "null", "[]", '"iss"', "1", "{}}", "{", "[" * 5000, '{"a":' * 1500 + "1" + "}" * 1500,
    '{"exp":' + "9" * 5000 + "}", "{%s}\x00", "\ufeff{%s}", "{%s,}", '{%s,"nonce":NaN}', '{%s,"nonce":Infinity}',
    '{%s,"nonce":-Infinity}', '{%s,"exp":NaN}', '{%s,"exp":1e400}', '{%s,"exp":' + "9" * 5000 + "}",
    '{%s,"nonce":' + "[" * 4000 + "]" * 4000 + "}",
)  # fmt: skip


def test_claims_that_are_no_json_object(app: RelyingParty, genuine: str) -> None:
    """Signed by us, they are refused all the same, and nothing falls over."""
    head, good = genuine.split(".")[0], json.dumps(claims_of(genuine))[1:-1]
    jwt.verify_access_token(with_signature(f"{head}.{part('{' + good + '}')}"))
    for claims in ODD_CLAIMS:
        token = with_signature(f"{head}.{part(claims.replace('%s', good))}")
        with pytest.raises(InvalidToken):
            jwt.verify_access_token(token)
        if len(token) < 4000:
            assert is_refused(app, token), claims[:20]


def test_claims_in_another_encoding(app: RelyingParty, genuine: str) -> None:
    text = json.dumps(claims_of(genuine) | {"nonce": "\u00e9"}, ensure_ascii=False)
    for encoding in ("utf-16", "utf-16-le", "utf-32", "latin-1"):
        body = base64.urlsafe_b64encode(text.encode(encoding)).rstrip(b"=").decode()
        assert is_refused(app, with_signature(f"{genuine.split('.')[0]}.{body}")), encoding


def test_headers_that_are_no_json_object(app: RelyingParty, genuine: str) -> None:
    claims = genuine.split(".")[1]
    odd = ('"alg"', '"alg b64"', "[]", '["alg"]', '["alg","b64"]', "1", "null", "[" * 300, "[" * 5000, "", "{}")
    for header in (*odd, '{"alg":1}'):
        assert is_refused(app, with_signature(f"{part(header)}.{claims}")), header[:20]


def test_a_token_that_is_too_long(app: RelyingParty, genuine: str) -> None:
    more = {"nonce": "x" * 9000}
    jwt.verify_access_token(sign(header_of(genuine), claims_of(genuine) | more))
    with pytest.raises(InvalidToken):
        jwt.verify_access_token(sign(header_of(genuine), claims_of(genuine) | {"nonce": "x" * 12_500}))


def test_json_serialisation_and_encryption_are_not_read(app: RelyingParty, genuine: str) -> None:
    head, body, signature = genuine.split(".")
    assert is_refused(app, json.dumps({"protected": head, "payload": body, "signature": signature}).replace(" ", ""))
    assert is_refused(app, f"{head}.x.y.z.{signature}")


# --- Where it is sent, and what ends it ---


def test_a_token_in_the_query_or_body_is_not_read(genuine: str) -> None:
    userinfo, me = "/connect/userinfo", "/v1/me"
    for path in (userinfo, me):
        assert Browser().get(f"{path}?access_token={genuine}").status_code == 401
    for method, path in (("GET", userinfo), ("POST", userinfo), ("GET", me)):
        answer = Browser().generic(method, path, f"access_token={genuine}", content_type=FORM)
        assert answer.status_code == 401, (method, path)


def test_a_revoked_token_with_a_good_signature_is_rejected(app: RelyingParty) -> None:
    tokens = app.tokens()
    app.post("/connect/revoke", {"token": tokens["refresh_token"]} | app.credentials())
    for path in ("/connect/userinfo", "/v1/me"):
        assert app.call(path, tokens["access_token"]).status_code == 401


def test_a_token_of_the_services_own_app_is_not_for_the_api(app: RelyingParty) -> None:
    app.client.first_party = True
    app.client.save()
    token = app.tokens()["access_token"]
    answer = app.call("/v1/me", token)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_token")
