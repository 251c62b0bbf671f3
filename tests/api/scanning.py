"""Reports of leaked credentials: from a secret scanner like GitHub's, and from a person on the page for them."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.test import Client as Browser

from oidc.signals import credential_leaked

PATH = "/hooks/leaked-credentials"
PAGE = "/leaked-credentials"
FOUND_AT = "https://github.com/ada/notes/blob/1f2e3d/settings.env"


def document_of(**keys: Any) -> str:
    """Return the document of public keys, by identifier, as GitHub publishes it."""
    pems = {
        name: key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode() for name, key in keys.items()
    }
    return json.dumps(
        {"public_keys": [{"key_identifier": name, "key": pem, "is_current": True} for name, pem in pems.items()]}
    )


@dataclass
class ScannerKey:
    """The scanner's key."""

    identifier: str = "scanner-key-1"
    private: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @cached_property
    def document(self) -> str:
        return document_of(**{self.identifier: self.private.public_key()})

    def sign(self, body: bytes) -> str:
        return base64.b64encode(self.private.sign(body, ec.ECDSA(SHA256()))).decode()


def entry(token: Any, **values: Any) -> dict[str, Any]:
    return {"token": token, "type": "openport_api_key", "url": FOUND_AT, "source": "commit"} | values


def send(
    key: ScannerKey, report: Any, *, signature: str | None = None, identifier: str | None = None, method: str = "POST"
) -> Any:
    """Send a report; bytes are sent unchanged."""
    body = report if isinstance(report, bytes) else json.dumps(report).encode()
    headers = {
        "Github-Public-Key-Identifier": key.identifier if identifier is None else identifier,
        "Github-Public-Key-Signature": key.sign(body) if signature is None else signature,
    }
    browser = Browser(enforce_csrf_checks=True, raise_request_exception=False)
    return browser.generic(method, PATH, body, content_type="application/json", headers=headers)


def paste(text: str, **changes: Any) -> Any:
    """Paste a text on the page."""
    return Browser(raise_request_exception=False).post(PAGE, {"credential": text}, **changes)


@contextmanager
def leaks_heard() -> Iterator[list[dict[str, Any]]]:
    """Collect the arguments of each time that the signal is sent."""
    heard: list[dict[str, Any]] = []

    def hear(sender: Any, signal: Any, **values: Any) -> None:
        heard.append(values)

    credential_leaked.connect(hear)
    try:
        yield heard
    finally:
        credential_leaked.disconnect(hear)
