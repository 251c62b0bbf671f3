"""Reports of leaked credentials: from secret scanners, in the format of GitHub's partner program, and from people.

docs/security.md#leaked-keys-and-secrets describes both.
"""

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.conf import settings
from django.db import transaction

from api.leak_report_keys import known_keys
from api.leaked_credentials import Source, known_digests
from api.models import LeakReport
from api.tasks import handle_leak_reports
from core.credentials import digest, random_text
from core.http.webhooks import WebhookError
from core.tasks import queue_task

MOST_ENTRIES = 1000
LONGEST_SIGNATURE = 200  # one of P-256 has at most 96 characters
# The members of an entry, and the most characters of each. `token` and `type` are required; others are ignored.
FIELDS = {"token": 1000, "type": 200, "url": 4000, "source": 100}
REQUIRED = ("token", "type")
LONGEST_URL = 500  # longer ones are not stored


# --- Reports of secret scanners ---


def verify_signature(identifier: str, signature: str, body: bytes) -> None:
    """Raise WebhookError unless `signature` (base64, DER) is one of the body by the key with this identifier."""
    key = known_keys().get(identifier)
    if key is None:
        raise WebhookError(401, "unknown_key", "Github-Public-Key-Identifier names no key in LEAK_REPORT_KEYS.")
    try:
        if len(signature) > LONGEST_SIGNATURE:
            raise ValueError
        key.verify(base64.b64decode(signature, validate=True), body, ec.ECDSA(SHA256()))
    except (ValueError, InvalidSignature) as error:
        raise WebhookError(401, "invalid_signature", "Github-Public-Key-Signature does not match this body.") from error


@dataclass(frozen=True)
class Entry:
    """One credential of a report. `url` is "" unless it can be stored and shown."""

    digest: str
    kind: str  # its `type`, as the scanner calls the pattern
    url: str


def parse_report(body: bytes) -> list[Entry]:
    """Parse a report. Raises WebhookError, which names the wrong entry; then nothing of the report counts."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _malformed("The body is not valid JSON.") from error
    if not isinstance(document, list):
        raise _malformed("The body must be a JSON array.")
    if len(document) > MOST_ENTRIES:
        raise WebhookError(413, "too_many_entries", f"A report has at most {MOST_ENTRIES} entries.")
    return [_parse_entry(number, entry) for number, entry in enumerate(document)]


def _parse_entry(number: int, entry: Any) -> Entry:
    if not isinstance(entry, dict):
        raise _malformed(f"Entry {number} must be an object.")
    for name, longest in FIELDS.items():
        value = entry.get(name)
        if value is None and name not in REQUIRED:
            continue
        if not isinstance(value, str):
            raise _malformed(f"Entry {number}: {name} must be a text.")
        if len(value) > longest:
            raise _malformed(f"Entry {number}: {name} has more than {longest} characters.")
    return Entry(digest(entry["token"]), entry["type"], _storable_url(entry.get("url") or ""))


def _malformed(message: str) -> WebhookError:
    return WebhookError(400, "malformed", message)


def _storable_url(text: str) -> str:
    """Return an https URL in printable ASCII, and "" for any other text: developers see it as a link."""
    if len(text) > LONGEST_URL or not re.fullmatch(r"https://[\x21-\x7e]+", text):
        return ""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    return text if parts.hostname and "@" not in parts.netloc else ""


def take_report(body: bytes) -> list[dict[str, str]]:
    """Store a report whose signature was checked. Return the response: for each entry, whether the credential is real.

    A report that comes again changes nothing and gets the same response. Raises WebhookError.
    """
    entries = parse_report(body)
    real = known_digests({entry.digest for entry in entries})
    found = {entry.digest: entry.url for entry in reversed(entries) if entry.digest in real}
    _store([LeakReport(digest=each, source=Source.GITHUB, url=url) for each, url in sorted(found.items())])
    return [
        {
            "token_hash": entry.digest,
            "token_type": entry.kind,
            "label": "true_positive" if entry.digest in real else "false_positive",
        }
        for entry in entries
    ]


# --- Reports of people ---

MOST_CANDIDATES = 5
LONGEST_TEXT = 2000
# A key or secret has at least 43 characters. This finds it within a line of a program or of a settings file.
_CANDIDATE = re.compile(r"(?<![\w-])[A-Za-z0-9_-]{43,255}(?![\w-])", re.ASCII)


def take_pasted(text: str) -> None:
    """Store what may be credentials in a pasted text, as hashes.

    The request takes the same work whatever the text contains, and nothing tells whether a credential is real.
    """
    prefixes = (settings.API_KEY_PREFIX, settings.CLIENT_SECRET_PREFIX)
    # The likely ones first: a text may contain other long words.
    likely_first = sorted(set(_CANDIDATE.findall(text)), key=lambda each: (not each.startswith(prefixes), each))
    candidates = likely_first[:MOST_CANDIDATES]
    # A text without any is stored like one with an unknown credential.
    digests = [digest(each) for each in candidates or [random_text(43)]]
    _store([LeakReport(digest=each, source=Source.WEB_FORM) for each in digests])


def _store(reports: Sequence[LeakReport]) -> None:
    if not reports:
        return
    with transaction.atomic():
        LeakReport.objects.bulk_create(reports)
        transaction.on_commit(lambda: queue_task(handle_leak_reports), robust=True)
