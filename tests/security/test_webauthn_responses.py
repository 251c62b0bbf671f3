"""What a passkey is said to have answered is anyone's JSON: a form says so, and nothing fails."""

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client as Browser

from tests.factories import make_account
from tests.relying_party import sign_in

pytestmark = pytest.mark.django_db

ODD = [
    "", "{", "[]", "null", "7", '{"id":1}', '{"response":{}}', '"\\u0000"', "[" * 2000,
    '{"id":"a","rawId":"a","type":"public-key","response":{"clientDataJSON":"AA","attestationObject":"AA"}}',
    '{"id":"YQ","rawId":"YQ","type":"public-key","response":{"clientDataJSON":"AA==","attestationObject":"oA"}}',
]  # fmt: skip


@pytest.fixture(autouse=True)
def unlimited(settings: Any) -> None:
    settings.RATELIMIT_ENABLE = False


@pytest.mark.parametrize("kind", ["true", "false", "both", ""])
def test_malformed_responses_when_adding_a_key(kind: str) -> None:
    browser = sign_in(Browser(), make_account())
    for answer in ODD:
        assert browser.get("/account/2fa/webauthn/add/").status_code == 200
        form = {"name": "A key", "passwordless": kind, "credential": answer}
        assert browser.post("/account/2fa/webauthn/add/", form).status_code == 200, answer


def test_malformed_responses_when_signing_in() -> None:
    browser = Browser()
    for answer in ODD:
        browser.get("/account/2fa/webauthn/login/", headers={"Accept": "application/json"})
        assert browser.post("/account/2fa/webauthn/login/", {"credential": answer}).status_code == 302, answer


def test_malformed_responses_when_signing_up() -> None:
    browser = Browser()
    browser.post("/account/signup/passkey/", {"email": "new@example.com", "given_name": "N", "family_name": ""})
    code = re.search(r"^ {4}(\S+)$", str(mail.outbox[-1].body), re.MULTILINE)
    assert code
    browser.post("/account/confirm-email/", {"code": code[1]})
    for answer in ODD:
        assert browser.get("/account/2fa/webauthn/signup/").status_code == 200
        form = {"name": "A key", "credential": answer}
        assert browser.post("/account/2fa/webauthn/signup/", form).status_code == 200, answer
