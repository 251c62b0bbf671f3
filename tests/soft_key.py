"""A passkey or security key in software, for tests over HTTP (WebAuthn §6.5, ES256)."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal.auth import WebAuthn
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client as Browser
from fido2.cose import ES256
from fido2.utils import sha256, websafe_decode, websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData

from accounts.models import Account
from accounts.sessions import keys

HOST = "testserver"
A_YEAR_AGO = datetime.now(UTC) - timedelta(days=365)
Flag = AuthenticatorData.FLAG


@dataclass
class SoftKey:
    """One key pair. `verifies` tells whether the key verifies its user before it signs."""

    verifies: bool = True
    id: bytes = b"soft key of the tests"
    private: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def _flags(self) -> AuthenticatorData.FLAG:
        return Flag.UP | Flag.UV if self.verifies else Flag.UP

    def made(self, options: dict[str, Any]) -> str:
        """Return the response to the options of a registration, as the page's script sends it."""
        public = ES256.from_cryptography_key(self.private.public_key())  # type: ignore[no-untyped-call]
        credential = AttestedCredentialData.create(b"\0" * 16, self.id, public)
        data = AuthenticatorData.create(sha256(HOST.encode()), self._flags | Flag.AT, 0, credential)
        attestation = AttestationObject.create("none", data, {})
        return self._sent(
            {
                "clientDataJSON": _client_data("webauthn.create", options),
                "attestationObject": websafe_encode(bytes(attestation)),
            }
        )

    def signed(self, options: dict[str, Any], account: Account | None = None) -> str:
        """Return the response to the options of a sign-in. With `account`, it is that of a passkey and names it."""
        data = bytes(AuthenticatorData.create(sha256(HOST.encode()), self._flags, 1))
        client_data = _client_data("webauthn.get", options)
        signature = self.private.sign(data + sha256(websafe_decode(client_data)), ec.ECDSA(hashes.SHA256()))
        handle = {}
        if account:
            handle = {"userHandle": websafe_encode(keys.make_user_handle(Account.objects.get(pk=account.pk)))}
        return self._sent(
            {
                "clientDataJSON": client_data,
                "authenticatorData": websafe_encode(data),
                "signature": websafe_encode(signature),
            }
            | handle
        )

    def _sent(self, response: dict[str, Any]) -> str:
        name = websafe_encode(self.id)
        return json.dumps(
            {
                "type": "public-key",
                "id": name,
                "rawId": name,
                "response": response,
                "clientExtensionResults": {"credProps": {"rk": True}},
            }
        )


def _client_data(kind: str, options: dict[str, Any]) -> str:
    challenge = options["publicKey"]["challenge"]
    made = CollectedClientData.create(
        type=kind,
        challenge=websafe_decode(challenge) if isinstance(challenge, str) else challenge,
        origin=f"http://{HOST}",
    )
    return websafe_encode(bytes(made))


def give_key(account: Account, key: SoftKey, *, signs_in_alone: bool = True) -> Authenticator:
    """Give a person a key that they have had for a year."""
    made = json.loads(key.made({"publicKey": {"challenge": b"0" * 32}}))
    keys.make_user_handle(account)
    row: Authenticator = WebAuthn.add(account, "A key", made).instance
    row.data["signs_in_alone"] = signs_in_alone
    row.created_at = A_YEAR_AGO
    row.save()
    return row


def add_key(browser: Browser, key: SoftKey) -> Any:
    """Add a key on its page, in the browser of someone who has just reauthenticated."""
    page = browser.get("/account/2fa/webauthn/add/")
    assert page.status_code == 200, page["Location"]
    options = page.context["js_data"]["creation_options"]
    form = {"name": "A key", "passwordless": str(key.verifies).lower(), "credential": key.made(options)}
    return browser.post("/account/2fa/webauthn/add/", form)


def use_alone(key: SoftKey, account: Account) -> Browser:
    """Use a passkey on the sign-in page, and return the browser."""
    browser = Browser()
    options = browser.get("/account/2fa/webauthn/login/", headers={"X-Requested-With": "XMLHttpRequest"}).json()
    form = {"credential": key.signed(options["request_options"], account)}
    browser.post("/account/2fa/webauthn/login/", form)
    return browser
