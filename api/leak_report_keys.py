"""The public keys of secret scanners (docs/security.md#reports-from-github)."""

import json
import logging
from collections.abc import Mapping
from functools import lru_cache

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from django.conf import settings

from api.models import ScannerKeys
from core import clock, outbound

log = logging.getLogger(__name__)


@lru_cache(maxsize=4)
def read_public_keys(document: str) -> Mapping[str, ec.EllipticCurvePublicKey]:
    """Return the keys in a document by their identifiers, none if it is empty.

    Raises ValueError unless it is one as GitHub publishes it, and each key is one of the curve P-256.
    """
    if not document:
        return {}
    try:
        entries = json.loads(document)["public_keys"]
        keys = {str(entry["key_identifier"]): load_pem_public_key(entry["key"].encode()) for entry in entries}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, UnsupportedAlgorithm) as error:
        raise ValueError("is not a JSON document with public_keys, each with key_identifier and key (PEM)") from error
    checked = {
        identifier: key
        for identifier, key in keys.items()
        if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1)
    }
    if not checked or len(checked) < len(keys):
        raise ValueError("must have at least one key, and only keys of the curve P-256")
    return checked


def is_url(setting: str) -> bool:
    """Return whether LEAK_REPORT_KEYS is the URL of a document, and not the document."""
    return setting.startswith("https://")


def known_keys() -> Mapping[str, ec.EllipticCurvePublicKey]:
    """Return the keys in LEAK_REPORT_KEYS, or the ones that were last fetched from there."""
    document: str = settings.LEAK_REPORT_KEYS
    if is_url(document):
        rows = ScannerKeys.objects.filter(url=document)
        document = rows.values_list("document", flat=True).first() or ""
    return read_public_keys(document)


def fetch_keys() -> bool:
    """Fetch the keys if LEAK_REPORT_KEYS is a URL, and keep them; return whether this succeeded.

    After a failure, the kept keys stay in use.
    """
    url: str = settings.LEAK_REPORT_KEYS
    if not is_url(url):
        return False
    try:
        answer = outbound.fetch(url)
        if answer.status != 200 or not read_public_keys(answer.text):
            raise ValueError(f"has status {answer.status} and {len(answer.body)} bytes")
    except (outbound.OutboundRefused, ValueError) as error:
        log.warning("The public keys at %s could not be fetched: %s", url, error)
        return False
    values = {"document": answer.text, "fetched_at": clock.now()}
    ScannerKeys.objects.update_or_create(url=url, defaults=values)
    return True
