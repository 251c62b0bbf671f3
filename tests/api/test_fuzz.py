"""Whatever is sent as a credential: one of the documented refusals, and nothing else."""

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from hypothesis import HealthCheck, example, given
from hypothesis import settings as drawn
from hypothesis import strategies as st

from api import keys as api_keys
from oidc.errors import InvalidToken
from oidc.tokens import jwt, signing_keys
from tests.api.calls import ME, call, refusal
from tests.api.conftest import Key
from tests.relying_party import claims_of, header_of

REFUSALS = {
    (401, "unauthenticated"),
    (401, "invalid_api_key"),
    (401, "invalid_token"),
    (429, "rate_limited"),
}
LENIENT = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}

# What a server hands on of a header: each byte a character, without line ends.
header_text = st.text(st.characters(min_codepoint=0, max_codepoint=255, exclude_characters="\r\n"), max_size=120)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def signed(text: str) -> str:
    """Return `text`, which is header and claims, with a right signature of our own key."""
    signature = signing_keys.signing_key().private.sign(text.encode(), PKCS1v15(), SHA256())
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


# --- Over HTTP ---


def test_any_header(db: None) -> None:
    @drawn(max_examples=300, **LENIENT)  # type: ignore[arg-type]
    @given(st.one_of(header_text, header_text.map("Bearer {}".format), header_text.map("Bearer op_key_{}".format)))
    @example("Bearer \x00")
    @example("Bearer " + "." * 3)
    @example("Bearer\xa0x")
    @example("Bearer \x85")
    @example("Bearer op_key_" + "a" * 70_000)
    def calls(header: str) -> None:
        assert refusal(call(ME, Authorization=header)) in REFUSALS

    calls()


@pytest.mark.parametrize("kind", ["key", "token"])
def test_a_credential_with_something_changed(kind: str, key: Key, token: str) -> None:
    raw = key.raw if kind == "key" else token

    @drawn(max_examples=200, **LENIENT)  # type: ignore[arg-type]
    @given(st.integers(0, len(raw)), st.integers(0, len(raw)), header_text)
    def calls(start: int, end: int, between: str) -> None:
        changed = raw[:start] + between + raw[end:]
        response = call(ME, changed)
        if changed.strip() != raw:
            assert refusal(response) in REFUSALS

    calls()


def test_a_signed_token_that_says_anything(token: str) -> None:
    header, claims = header_of(token), claims_of(token)

    @drawn(max_examples=200, **LENIENT)  # type: ignore[arg-type]
    @given(st.dictionaries(st.sampled_from([*claims, "nbf", "cnf", "act"]), any_json, min_size=1, max_size=4))
    def calls(changes: dict[str, Any]) -> None:
        forged = signed(f"{part(header)}.{part(claims | changes)}")
        assert refusal(call(ME, forged)) in REFUSALS

    calls()


# --- The check itself: nothing but InvalidToken ---


def refused(token: str) -> bool:
    try:
        jwt.verify_access_token(token)
    except InvalidToken:
        return True
    return False


@pytest.mark.django_db
class TestTheCheck:
    def test_of_any_parts(self) -> None:
        signing_keys.reload_keyring()

        @drawn(max_examples=300, **LENIENT)  # type: ignore[arg-type]
        @given(any_json, any_json, st.binary(max_size=300))
        def check(header: Any, claims: Any, signature: bytes) -> None:
            third = base64.urlsafe_b64encode(signature).rstrip(b"=").decode()
            assert refused(f"{part(header)}.{part(claims)}.{third}")

        check()

    def test_of_any_bytes_in_the_parts(self) -> None:
        signing_keys.reload_keyring()

        @drawn(max_examples=300, **LENIENT)  # type: ignore[arg-type]
        @given(st.binary(max_size=80), st.binary(max_size=80))
        @example(b"[" * 5000, b"{}")
        @example(b'{"alg":' * 1500, b"{}")
        @example(b"1" * 5000, b"{}")
        @example(b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}")
        @example(b'{"a":1e999}', b'{"exp":NaN}')
        def check(header: bytes, claims: bytes) -> None:
            parts = (base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in (header, claims))
            assert refused(".".join(parts) + ".AAAA")

        check()

    def test_of_signed_headers(self, token: str) -> None:
        signing_keys.reload_keyring()
        header, rest = header_of(token), token.split(".")[1]

        @drawn(max_examples=300, **LENIENT)  # type: ignore[arg-type]
        @given(st.dictionaries(st.sampled_from([*header, "crit", "jwk", "x5c"]), any_json, min_size=1, max_size=4))
        def check(changes: dict[str, Any]) -> None:
            assert refused(signed(f"{part(header | changes)}.{rest}"))

        check()


@given(st.text(st.characters(), max_size=120))
def test_no_text_upsets_the_parser_of_keys(text: str) -> None:
    assert api_keys.parse_public_id(text) is None
    assert api_keys.parse_public_id("op_key_" + text) is None
